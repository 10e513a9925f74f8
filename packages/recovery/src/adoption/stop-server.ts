import { NoAnswerError, type ControlClient } from '@holdfast/control-protocol/client';
import type { Dialled } from '@holdfast/executor-contract';
import { boundedRead } from '../reconstruction/bounded-read.ts';
import type { AuthenticatedServer } from './authenticate.ts';
import { STOP_TIMEOUT_MS, type OwnershipContext } from './context.ts';
import { nobodyListens } from './nobody-listens.ts';

/** What came of stopping a server. */
export type ServerStop =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'not_stopped'; readonly detail: string };

/** The server to stop, and how it is reached. */
export interface StopTarget {
  readonly client: ControlClient;
  readonly route: Dialled['route'];
  readonly serverId: string;
}

const LOOK_AGAIN_AFTER_MS = 50;

/**
 * Ownership shutdown, retried on the read budget; already stopping or gone counts as done (OWNERSHIP-004.7). Resolves as stopped
 * only when the server answers no more, so that nothing it ran is alive.
 */
export async function stopServer(
  { settings, clock, crashPoint }: Pick<OwnershipContext, 'settings' | 'clock' | 'crashPoint'>,
  target: StopTarget,
): Promise<ServerStop> {
  const isGone = async (): Promise<boolean> => await answersNoMore(settings, target);
  const asked = await boundedRead(
    { settings, retryAnswered: true },
    async (limits) => await target.client.call('shutdown', {}, limits),
  );
  if (asked.kind !== 'read' && asked.error.code !== 'shutting_down') {
    if (await isGone()) return { kind: 'stopped' };
    return { kind: 'not_stopped', detail: asked.error.message };
  }
  crashPoint('shutdown.answered');
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
  crashPoint('shutdown.ended');
  return { kind: 'stopped' };
}

/**
 * Whether nobody is there, or somebody else took the port. Silence is something else: a process that hangs may still have
 * agents.
 */
async function answersNoMore(
  settings: OwnershipContext['settings'],
  { client, route, serverId }: StopTarget,
): Promise<boolean> {
  const identity = await boundedRead(
    { settings: { ...settings, recoveryReadRetries: 0 }, retryAnswered: false },
    async (limits) => await client.call('getIdentity', {}, limits),
  );
  if (identity.kind === 'read') return identity.value.serverId !== serverId;
  return identity.error instanceof NoAnswerError && nobodyListens(route, identity.error);
}

/** The server that has proven to be own, to be stopped. */
export function targetOf({ client, dialled, identity }: AuthenticatedServer): StopTarget {
  return { client, route: dialled.route, serverId: identity.serverId };
}
