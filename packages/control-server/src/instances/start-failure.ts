import { ControlError, type AgentStartPhase, type AgentStartReason } from '@holdfast/control-protocol';
import { AgentRequestError } from '../agent/acp-connection.ts';
import type { RpcError } from '../agent/acp-message.ts';
import type { Exit } from '../agent/agent-process.ts';
import type { AgentFault } from '../agent/agent.ts';
import {
  AgentProtocolError,
  AuthenticationError,
  SessionNotLoadedError,
} from '../agent/open-session-errors.ts';
import { systemCode } from '../ports/system-error.ts';

export type StartPhase = AgentStartPhase;

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

/** The server gave the agent up while it started. */
export class AgentFaultError extends Error {
  override readonly name = 'AgentFaultError';
  readonly code = 'agent_fault';
  readonly fault: AgentFault;

  constructor(fault: AgentFault) {
    super(fault.message);
    this.fault = fault;
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
  if (error instanceof AgentFaultError) {
    const isProtocol = error.fault.code === 'agent_protocol_error';
    return new ControlError(isProtocol ? error.fault.code : 'agent_start_failed', error.message, {
      phase,
      exit,
    });
  }
  if (error instanceof AuthenticationError) {
    const reason: AgentStartReason = 'authentication_required';
    const { authMethodIds } = error;
    const details = { phase, exit, reason, authMethodIds, ...agentError(error.rpcError) };
    return new ControlError('agent_start_failed', error.message, details);
  }
  if (error instanceof SessionNotLoadedError) {
    const { reason } = error;
    const details = { phase, exit, reason, ...agentError(error.rpcError) };
    return new ControlError('agent_start_failed', error.message, details);
  }
  if (error instanceof AgentRequestError) {
    return new ControlError('agent_start_failed', `The agent refused ${phase}: ${error.rpcError.message}`, {
      phase,
      exit,
      ...agentError(error.rpcError),
    });
  }
  if (error instanceof StartAbortedError) {
    return new ControlError('agent_start_failed', `The agent was stopped during ${phase}.`, { phase, exit });
  }
  const why =
    phase === 'spawn' ? `its program cannot be run (${systemCode(error) ?? 'unknown'})` : exitWords(exit);
  return new ControlError('agent_start_failed', `The agent failed during ${phase}: ${why}.`, { phase, exit });
}

function agentError(said: RpcError | null): { readonly agentError?: RpcError } {
  return said === null ? {} : { agentError: said };
}

function exitWords(exit: Exit | null): string {
  if (exit === null) return 'how is not known';
  if (exit.signal !== null) return `it ended (signal ${exit.signal})`;
  return exit.code === null ? 'it closed its output' : `it ended (exit code ${String(exit.code)})`;
}
