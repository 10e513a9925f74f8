import { setTimeout as delay } from 'node:timers/promises';
import type { Instance } from '@holdfast/control-protocol';
import type { Held, SessionRecord } from '@holdfast/turn-ledger';
import { SessionNotFoundError, SessionNotLiveError, TurnInProgressError } from './session-errors.ts';
import { Turn } from '../turns/turn.ts';
import { dispatchPrompt } from './dispatch-prompt.ts';
import type { HostServices } from './host-services.ts';
import { launchSession } from './launch-session.ts';
import { callLive } from './live-error.ts';
import type { LiveExecution } from './live-execution.ts';
import type { PendingPrompt } from './pending-prompts.ts';
import { assertOurs } from './require-live.ts';
import { startAgent } from './start-agent.ts';

// An agent that crashed is cleared away with all that it left running; the guard is held meanwhile.
const LOOK_EVERY_MS = 50;
const MAX_LOOKS = 200;

/**
 * Sends a prompt, with an agent started first where the session has none. To be called under the session guard, which it
 * needs no longer than until the prompt is accepted (GENERATION-11). Prompts that wait go on when this one did not go out.
 */
export async function sendPrompt(
  services: HostServices,
  sessionId: string,
  prompt: PendingPrompt,
  held: Held,
): Promise<Turn> {
  try {
    return new Turn(services.results, await dispatch(services, sessionId, prompt), sessionId);
  } catch (error) {
    // The failed attempt has used a number up, so a ready event that could wake them is stale by now.
    held.afterRelease(() => {
      wakePending(services, sessionId);
    });
    throw error;
  }
}

/** An agent that is found to be lost by the prompt itself is replaced once, as one that was known to be. */
async function dispatch(services: HostServices, sessionId: string, prompt: PendingPrompt): Promise<string> {
  const live = await liveExecution(services, sessionId, prompt);
  try {
    return await tryDispatch(services, live, prompt);
  } catch (error) {
    if (!(error instanceof SessionNotLiveError)) throw error;
    // It was not accepted, for certain.
    if (live.server.ended.aborted) await live.untilEnded();
    return await tryDispatch(services, await liveExecution(services, sessionId, prompt), prompt);
  }
}

async function tryDispatch(
  services: HostServices,
  live: LiveExecution,
  { content }: PendingPrompt,
): Promise<string> {
  return await callLive(live, async () => await dispatchPrompt(services, live, content));
}

/** Whether a prompt of the session runs, as far as this host knows: another one has to wait for its end, or replace it. */
export function promptRuns({ live }: Pick<HostServices, 'live'>, sessionId: string): boolean {
  return live.get(sessionId)?.lifecycle.state.status === 'running';
}

/** The pending move: sends the first of the prompts that wait, and the next where one cannot be sent. Under the guard. */
export async function sendPending(
  services: HostServices,
  sessionId: string,
  held: Held,
): Promise<Turn | null> {
  while (!promptRuns(services, sessionId)) {
    const waiting = services.pending.take(sessionId);
    if (waiting === undefined) return null;
    try {
      const turn = await sendPrompt(services, sessionId, waiting.prompt, held);
      waiting.resolve(turn);
      return turn;
    } catch (error) {
      waiting.reject(error);
    }
  }
  return null;
}

function wakePending(services: HostServices, sessionId: string): void {
  const { pending, sessionGuard, events, closed } = services;
  if (!pending.has(sessionId)) return;
  sessionGuard
    .hold(sessionId, async (held) => await sendPending(services, sessionId, held), { signal: closed })
    .catch((error: unknown) => {
      if (!closed.aborted) events.publish({ name: 'host.error', what: `prompts of ${sessionId}`, error });
    });
}

async function liveExecution(
  services: HostServices,
  sessionId: string,
  { runId, signal }: PendingPrompt,
): Promise<LiveExecution> {
  assertOurs(services, sessionId);
  const { ledger } = services;
  const record = await recordOf(services, sessionId);
  const live = services.live.get(sessionId);
  if (live === undefined) {
    if ((await ledger.turns.openTurn(sessionId)) !== null) throw new TurnInProgressError(sessionId);
    return await launchSession(services, record, { runId, signal });
  }
  if (!live.agentRunning) {
    await callLive(live, async () => {
      await services.starts.run(sessionId, signal, async (unlessCancelled) => {
        await startMissing(services, record, live, unlessCancelled);
      });
    });
    live.agentRunning = true;
  }
  return live;
}

async function startMissing(
  services: HostServices,
  record: SessionRecord,
  live: LiveExecution,
  signal: AbortSignal,
): Promise<void> {
  const instance = await settledInstance(live, signal);
  // What told that the agent is gone may be about one before this one.
  if (instance.agentPid !== null) return;
  const { server, execution } = live;
  await startAgent(services, record, { server, instance, executionId: execution.executionId }, signal);
}

/** The instance once it is plain whether it has an agent: one that has just ended may still be cleared away. */
async function settledInstance(live: LiveExecution, signal: AbortSignal): Promise<Instance> {
  for (let looks = 1; ; looks += 1) {
    const instance = await live.instance();
    const { agentPid, status } = instance;
    const isEnding = agentPid !== null && (status === 'failed' || status === 'stopping');
    if (!isEnding || looks === MAX_LOOKS) return instance;
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** The session as the ledger has it; throws {@link SessionNotFoundError}. */
export async function recordOf(
  { ledger, closed }: Pick<HostServices, 'ledger' | 'closed'>,
  sessionId: string,
): Promise<SessionRecord> {
  closed.throwIfAborted();
  const record = await ledger.sessions.get(sessionId);
  if (record === null) throw new SessionNotFoundError(sessionId);
  return record;
}
