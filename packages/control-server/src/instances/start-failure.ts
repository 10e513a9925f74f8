import { ControlError, type AgentStartPhase } from '@holdfast/control-protocol';
import type { z } from 'zod';
import { AgentRequestError } from '../agent/acp-connection.ts';
import type { Exit } from '../agent/agent-process.ts';
import { AgentProtocolError } from '../agent/open-session.ts';
import { systemCode } from '../ports/system-error.ts';

export type StartPhase = z.infer<typeof AgentStartPhase>;

/** The agent did not finish a phase of its start within the time it has for that. */
export class StartTimeoutError extends Error {
  override readonly name = 'StartTimeoutError';
  readonly code = 'agent_timeout';
  readonly limitMs: number;

  constructor(limitMs: number) {
    super(`The agent did not get ready within ${String(limitMs)} ms.`);
    this.limitMs = limitMs;
  }
}

/** The start was given up because the instance or its agent was to stop. */
export class StartAbortedError extends Error {
  override readonly name = 'StartAbortedError';
  readonly code = 'start_aborted';

  constructor() {
    super('The agent was stopped while it started.');
  }
}

/** What a failed start answers: the phase, how the process ended and the agent's own error, but none of its output. */
export function startFailure(error: unknown, phase: StartPhase, exit: Exit | null): ControlError {
  if (error instanceof StartTimeoutError) {
    return new ControlError(
      'agent_timeout',
      `The agent did not finish ${phase} within ${String(error.limitMs)} ms; it was stopped.`,
      { phase },
    );
  }
  if (error instanceof AgentProtocolError) {
    return new ControlError('agent_protocol_error', error.message, { phase, exit });
  }
  if (error instanceof AgentRequestError) {
    return new ControlError('agent_start_failed', `The agent refused ${phase}: ${error.rpcError.message}`, {
      phase,
      exit,
      agentError: error.rpcError,
    });
  }
  if (error instanceof StartAbortedError) {
    return new ControlError('agent_start_failed', `The agent was stopped during ${phase}.`, { phase, exit });
  }
  const why =
    phase === 'spawn'
      ? `its program cannot be run (${systemCode(error) ?? 'unknown'})`
      : `it ended (${exitWords(exit)})`;
  return new ControlError('agent_start_failed', `The agent failed during ${phase}: ${why}.`, { phase, exit });
}

function exitWords(exit: Exit | null): string {
  if (exit === null || (exit.code === null && exit.signal === null)) return 'how is not known';
  return exit.signal === null ? `exit code ${String(exit.code)}` : `signal ${exit.signal}`;
}
