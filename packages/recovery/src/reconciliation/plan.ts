import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { RowLiveness } from '../liveness/judge-row.ts';
import { OUTCOME_EFFECTS, type RowOutcome } from '../outcomes/row-outcome.ts';

/** A row with what recovery came to for it, and its liveness taken after that (SURVIVAL-003.1, .6). */
export interface JudgedRow {
  readonly row: ExecutionRecord;
  readonly outcome: RowOutcome;
  /** One that was not taken is a doubt. */
  readonly liveness?: Pick<RowLiveness, 'liveness'>;
}

/** What a host has to set right about one session, in one transaction. */
export interface SessionPlan {
  readonly sessionId: string;
  /**
   * `reconcile`: an active session becomes waiting for input, its open turns abandoned, its task in progress goes to review as
   * interrupted. `untouched`: none of it.
   */
  readonly session: 'reconcile' | 'untouched';
  /** The executions whose rows stop claiming a live process; resume token and worktree stay. */
  readonly repair: readonly string[];
}

/** What a host has to set right after recovery. */
export interface ReconciliationPlan {
  /** Sorted by session id; sessions about which everything is true are left out. */
  readonly sessions: readonly SessionPlan[];
}

/**
 * Reads outcomes and liveness of all rows. A session with any row whose outcome leaves it untouched is left alone. Only a row whose
 * process is gone is repaired; the others stay, so that the next start sees them and no launch gets past them.
 */
export function planReconciliation(rows: readonly JudgedRow[]): ReconciliationPlan {
  const plans = [...Map.groupBy(rows, ({ row }) => row.sessionId)].map(([sessionId, ofSession]) =>
    planSession(sessionId, ofSession),
  );
  return {
    sessions: plans
      .filter(({ session, repair }) => session === 'reconcile' || repair.length > 0)
      .toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1)),
  };
}

function planSession(sessionId: string, rows: readonly JudgedRow[]): SessionPlan {
  const effects = rows.map(({ outcome }) => OUTCOME_EFFECTS[outcome.kind]);
  return {
    sessionId,
    session: effects.some(({ session }) => session === 'untouched') ? 'untouched' : 'reconcile',
    repair: rows
      .filter((row) => becomesOf(row) === 'repaired')
      .map(({ row }) => row.executionId)
      .toSorted(),
  };
}

/** What becomes of a row: the outcome decides, and liveness can only keep a row that the outcome would have repaired. */
export function becomesOf({
  outcome,
  liveness,
}: Pick<JudgedRow, 'outcome' | 'liveness'>): 'live' | 'repaired' | 'kept' {
  const effect = OUTCOME_EFFECTS[outcome.kind].row;
  if (effect === 'live') return 'live';
  return effect === 'repair' && liveness?.liveness === 'gone' ? 'repaired' : 'kept';
}
