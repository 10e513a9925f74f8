import type { TurnOutcome } from '@holdfast/control-protocol';
import type { Held, TerminalEvent } from '@holdfast/turn-ledger';
import { PromptUnresolvedError } from './session-errors.ts';
import type { ExecutionServices } from './execution-services.ts';
import { callLive } from './live-error.ts';
import type { LiveExecution } from './live-execution.ts';
import { settleOutcome } from './settle.ts';
import { stopAgent } from './stop-agent.ts';

/** What the escalation says about a turn whose cancel nobody answered, as a control server says it. */
const UNANSWERED: TurnOutcome = { kind: 'cancelled', stopReason: 'cancel_unanswered' };

// The guard is held meanwhile, and a server that does not answer this has not answered the cancel either.
const LOOK_TIMEOUT_MS = 5000;

/**
 * Asks the agent to end its turn and waits for that, under the session guard. After the host's cancel limit it escalates
 * (GENERATION-10): the turn is ended as cancelled, and an agent that still works on it is stopped. False when nothing was
 * active. Rejects with the signal's reason when that aborts first; the agent was asked all the same.
 */
export async function cancelTurn(
  services: ExecutionServices,
  live: LiveExecution,
  held: Held,
  signal: AbortSignal,
): Promise<boolean> {
  const { ended } = live.lifecycle;
  if (ended === null) return await callLive(live, askToEnd);
  const limit = Promise.withResolvers<'limit'>();
  const disarm = services.clock.after(services.cancelLimitMs, () => {
    limit.resolve('limit');
  });
  const left = Promise.withResolvers<'left'>();
  const leave = (): void => {
    left.resolve('left');
  };
  const giveUp = AbortSignal.any([signal, live.stopping]);
  if (giveUp.aborted) leave();
  else giveUp.addEventListener('abort', leave, { once: true });
  try {
    // Whatever becomes of the request: what counts is that the turn ends.
    askToEnd(live).catch(() => undefined);
    const first = await Promise.race([ended, limit.promise, left.promise]);
    if (first === 'left') signal.throwIfAborted();
    if (first === 'limit') await escalate(services, live, held);
    return true;
  } finally {
    disarm();
    giveUp.removeEventListener('abort', leave);
  }
}

/** False when the control server knows of no turn that could be cancelled. */
async function askToEnd({ client, execution, lifecycle }: LiveExecution): Promise<boolean> {
  const { instanceId } = execution;
  const turnId =
    lifecycle.state.active?.turnId ?? (await client.call('getTurn', { instanceId })).active?.turnId;
  if (turnId === undefined) return false;
  return (await client.call('cancel', { instanceId, turnId })).cancelling;
}

/** Nobody answered in time. The guard is held, so what is published of this waits for its release. */
async function escalate(services: ExecutionServices, live: LiveExecution, held: Held): Promise<void> {
  const { lifecycle, execution } = live;
  const { active } = lifecycle.state;
  if (active === null) return;
  const end = (terminal: TerminalEvent): void => {
    const verdict = lifecycle.escalate(terminal);
    if (verdict.kind === 'dropped') return;
    const { event } = verdict;
    held.afterRelease(() => {
      services.ready.publish(event);
    });
  };
  // The end may be known and only the stream be broken.
  const answered = await live.settleRetained(end, { timeoutMs: LOOK_TIMEOUT_MS }).then(
    () => true,
    () => false,
  );
  // Meanwhile the installation may have become another host's.
  services.closed.throwIfAborted();
  if (lifecycle.state.active?.generation !== active.generation) return;

  const controlTurnId = lifecycle.state.active.turnId;
  if (controlTurnId === null) {
    const open = await services.ledger.turns.openTurn(execution.sessionId);
    if (open !== null) throw new PromptUnresolvedError(open.turnId, undefined);
    return;
  }
  const terminal = { promptGeneration: active.generation, controlTurnId, outcome: UNANSWERED };
  const result = await services.ledger.outcomes.apply({
    ...terminal,
    executionId: execution.executionId,
    endedAt: services.wallTime(),
  });
  if (result.applied) settleOutcome(services, result);
  end(terminal);
  if (answered) await endAgent(services, live);
}

/** An agent that goes on with a turn which is over must not be prompted; the next prompt starts another. */
async function endAgent({ events }: ExecutionServices, live: LiveExecution): Promise<void> {
  const { instanceId, sessionId } = live.execution;
  try {
    await stopAgent(live.server, instanceId);
    live.agentRunning = false;
  } catch (error) {
    events.publish({ name: 'host.error', what: `stopping the agent of ${sessionId}`, error });
  }
}
