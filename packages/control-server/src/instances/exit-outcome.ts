import type { TurnOutcome } from '@holdfast/control-protocol';
import type { Exit } from '../agent/agent-process.ts';
import type { AgentFault } from '../agent/agent.ts';

/** The outcome of a turn whose agent ended before the turn did; `fault` is why the server ended it, where it did. */
export function exitOutcome({
  code,
  signal,
  fault,
}: Exit & { readonly fault: AgentFault | null }): TurnOutcome {
  const how = signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
  const exited = { code: 'agent_exited', message: `The agent ended during the turn (${how}).` };
  return { kind: 'failed', stopReason: 'agent_exited', error: fault ?? exited };
}
