import { HostError } from '../host-errors.ts';
import type { StartFailure } from './managed-start/start-failure.ts';
import type { RuntimeRepair } from './managed-start/start-plan.ts';

/** Who could not be started, and what is known of why. */
export interface AgentStartFacts extends StartFailure {
  readonly sessionId: string;
  readonly agent: string;
  /** What was done about npm's stale metadata, or why nothing was; null when that was not the matter. */
  readonly repair: RuntimeRepair | null;
  readonly cause: Error;
}

/**
 * The agent could not be started. The session keeps its workspace, and the one way to try again is another prompt: at once where
 * `retryable` is true, otherwise once what `advice` says is done.
 */
export class AgentStartFailedError extends HostError {
  override readonly name = 'AgentStartFailedError';
  readonly code = 'agent_start_failed';
  readonly sessionId: string;
  readonly agent: string;
  readonly phase: AgentStartFacts['phase'];
  readonly stderrClass: AgentStartFacts['stderrClass'];
  readonly advice: string | null;
  readonly retryable: boolean;
  readonly repair: RuntimeRepair | null;

  constructor({ sessionId, agent, cause, repair, ...failure }: AgentStartFacts) {
    super(startFailedMessage({ sessionId, agent, cause, repair, ...failure }), { cause });
    this.sessionId = sessionId;
    this.agent = agent;
    this.phase = failure.phase;
    this.stderrClass = failure.stderrClass;
    this.advice = failure.advice;
    this.retryable = failure.retryable;
    this.repair = repair;
  }
}

function startFailedMessage({ sessionId, agent, cause, advice, repair }: AgentStartFacts): string {
  const said = [cause.message];
  if (repair?.kind === 'refused') said.push(`It was not started again: ${repair.why}.`);
  if (repair?.kind === 'failed') said.push(`npm’s copy of it could not be removed (${repair.code}).`);
  if (advice !== null && !cause.message.includes(advice)) said.push(advice);
  return `agent ${agent} of session ${sessionId} did not start: ${said.join(' ')}`;
}

/** The start of the agent was ended by a stop or a cancel of its session. Another prompt starts one. */
export class AgentStartCancelledError extends HostError {
  override readonly name = 'AgentStartCancelledError';
  readonly code = 'agent_start_cancelled';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(`session ${sessionId} was stopped or cancelled while its agent started; a prompt starts it anew`);
    this.sessionId = sessionId;
  }
}
