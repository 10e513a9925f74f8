import { NoAnswerError, type ControlClient } from '@holdfast/control-protocol/client';
import { boundedRead } from '../reconstruction/bounded-read.ts';
import { STOP_TIMEOUT_MS, type OwnershipContext } from './context.ts';

/** What came of stopping a server. */
export type ServerStop =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'not_stopped'; readonly detail: string };

const LOOK_AGAIN_AFTER_MS = 50;

/**
 * Ownership shutdown, retried on the read budget; already stopping or gone counts as done (OWNERSHIP-004.7). Resolves as stopped
 * only when the server answers no more, so that nothing it ran is alive.
 */
export async function stopServer(
  { settings, clock }: Pick<OwnershipContext, 'settings' | 'clock'>,
  client: ControlClient,
  serverId: string,
): Promise<ServerStop> {
  const isGone = async (): Promise<boolean> => await answersNoMore(settings, client, serverId);
  const asked = await boundedRead(
    { settings, retryAnswered: true },
    async (limits) => await client.call('shutdown', {}, limits),
  );
  if (asked.kind !== 'read' && asked.error.code !== 'shutting_down') {
    if (await isGone()) return { kind: 'stopped' };
    return { kind: 'not_stopped', detail: asked.error.message };
  }
  const deadline = clock.now() + STOP_TIMEOUT_MS;
  while (!(await isGone())) {
    if (clock.now() >= deadline) {
      return {
        kind: 'not_stopped',
        detail: `it still answers ${String(STOP_TIMEOUT_MS)} ms after it agreed to stop`,
      };
    }
    await new Promise<void>((resolve) => {
      clock.after(LOOK_AGAIN_AFTER_MS, resolve);
    });
  }
  return { kind: 'stopped' };
}

/**
 * Whether nobody is there, or somebody else took the port. Silence is something else: a process that hangs may still have
 * agents.
 */
async function answersNoMore(
  settings: OwnershipContext['settings'],
  client: ControlClient,
  serverId: string,
): Promise<boolean> {
  const identity = await boundedRead(
    { settings: { ...settings, recoveryReadRetries: 0 }, retryAnswered: false },
    async (limits) => await client.call('getIdentity', {}, limits),
  );
  if (identity.kind === 'read') return identity.value.serverId !== serverId;
  return identity.error instanceof NoAnswerError && GONE.has(codeOf(identity.error.cause));
}

// Refused where the server was dialled directly, reset at the far end of a tunnel.
const GONE = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET']);

function codeOf(cause: unknown): unknown {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
}
