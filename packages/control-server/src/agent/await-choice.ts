import { SESSION_CHANGE_LIMIT_MS } from '@holdfast/control-protocol';
import { within, type Clock } from '../ports/clock.ts';
import { AgentGoneError } from './acp-connection.ts';

/** An agent did not answer in time; what it does about the request is not known. */
export class AgentSilentError extends Error {
  override readonly name = 'AgentSilentError';
  readonly code = 'agent_timeout';
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`The agent did not answer within ${String(limitMs)} ms.`);
    this.limitMs = limitMs;
  }
}

// What an agent answered right before its end is read this long.
const LAST_ANSWER_MS = 1000;

/**
 * Waits for a choice to be confirmed, but neither for ever nor for an agent that has ended: its answer may stand behind output
 * that nobody reads, and whoever stops the instance must not find a request that waits for that. Rejects with what `chosen`
 * rejects with, with {@link AgentSilentError} or with `AgentGoneError`.
 */
export async function awaitChoice(
  clock: Clock,
  chosen: Promise<void>,
  exited: Promise<unknown>,
): Promise<void> {
  const answered = chosen.then(
    () => true,
    () => true,
  );
  const gone = exited.then(async () => await within(clock, LAST_ANSWER_MS, answered));
  const isAnswered = Promise.race([answered, gone]);
  const inTime = await within(clock, SESSION_CHANGE_LIMIT_MS, isAnswered);
  if (!inTime) throw new AgentSilentError(SESSION_CHANGE_LIMIT_MS);
  if (!(await isAnswered)) throw new AgentGoneError('the choice');
  await chosen;
}
