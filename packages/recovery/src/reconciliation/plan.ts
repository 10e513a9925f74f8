import type { ExecutionRecord } from '@holdfast/executor-contract';
import { OUTCOME_EFFECTS, type RowOutcome } from '../outcomes/row-outcome.ts';

/** What a host has to set right after recovery. */
export interface ReconciliationPlan {
  /**
   * Sessions that are not re-tracked: an active one becomes waiting for input, its open turns abandoned, its task in progress
   * goes to review as interrupted.
   */
  readonly sessionIds: readonly string[];
  /** Rows that stop claiming a live process; resume token and worktree stay. */
  readonly repairs: readonly ExecutionRecord[];
}

/** Reads the outcomes of all rows (SURVIVAL-003.1). A session with any row whose outcome leaves it untouched is left alone. */
export function planReconciliation(
  rows: ReadonlyArray<{ readonly row: ExecutionRecord; readonly outcome: RowOutcome }>,
): ReconciliationPlan {
  const untouched = new Set(
    rows
      .filter(({ outcome }) => OUTCOME_EFFECTS[outcome.kind].session === 'untouched')
      .map(({ row }) => row.sessionId),
  );
  const sessionIds = new Set(
    rows.map(({ row }) => row.sessionId).filter((sessionId) => !untouched.has(sessionId)),
  );
  return {
    sessionIds: [...sessionIds].toSorted(),
    repairs: rows
      .filter(({ outcome }) => OUTCOME_EFFECTS[outcome.kind].row === 'repair')
      .map(({ row }) => row),
  };
}
