import type { CurrentPrompts } from '@holdfast/turn-ledger';
import type { LiveExecution } from '../sessions/live-execution.ts';

/** What the host asks for its executions, by which every ready event is judged (GENERATION-08, -09). */
export function executionStore(live: ReadonlyMap<string, LiveExecution>): CurrentPrompts {
  return {
    current: (executionId) => {
      for (const { execution, lifecycle } of live.values()) {
        if (execution.executionId === executionId) return lifecycle.current;
      }
      return null;
    },
  };
}
