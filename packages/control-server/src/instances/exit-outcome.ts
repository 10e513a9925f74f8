import type { TurnOutcome } from '@holdfast/control-protocol';
import type { Exit } from '../agent/agent-process.ts';

/** The outcome of a turn whose agent ended before the turn did. */
export function exitOutcome({ code, signal }: Exit): TurnOutcome {
  const how = signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
  return {
    kind: 'failed',
    stopReason: 'agent_exited',
    error: { code: 'agent_exited', message: `The agent ended during the turn (${how}).` },
  };
}
