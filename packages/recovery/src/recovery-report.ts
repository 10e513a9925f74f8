import type { ExecutionRecord, ScopeReport } from '@holdfast/executor-contract';
import { describeOutcome, type RowOutcome } from './outcomes/row-outcome.ts';

/** What recovery came to for one row. */
export interface RowReport {
  readonly row: ExecutionRecord;
  readonly outcome: RowOutcome;
}

/** What recovery came to as a whole. */
export class RecoveryReport {
  /** One a control-server scope. */
  readonly scopes: readonly ScopeReport[];
  /** One a row, in the order the rows were given. */
  readonly rows: readonly RowReport[];
  /** From the first contact with a control server to the last outcome, in milliseconds. */
  readonly tookMs: number;

  constructor(facts: { scopes: readonly ScopeReport[]; rows: readonly RowReport[]; tookMs: number }) {
    this.scopes = facts.scopes;
    this.rows = facts.rows;
    this.tookMs = facts.tookMs;
  }

  /** How many rows came to each outcome; outcomes that no row came to are left out. */
  get counts(): Readonly<Partial<Record<RowOutcome['kind'], number>>> {
    const counts: Partial<Record<RowOutcome['kind'], number>> = {};
    for (const { outcome } of this.rows) counts[outcome.kind] = (counts[outcome.kind] ?? 0) + 1;
    return counts;
  }

  /** One line a scope and one for each of its warnings, one a row, one in all. */
  toString(): string {
    const retracked = this.counts.retracked ?? 0;
    return [
      ...this.scopes.flatMap(({ scope, server, detail, warnings }) => [
        `${scope}: ${server} (${detail})`,
        ...warnings.map((warning) => `${scope}: warning: ${warning}`),
      ]),
      ...this.rows.map(({ row, outcome }) => `session ${row.sessionId}: ${describeOutcome(outcome)}`),
      `${String(retracked)} of ${String(this.rows.length)} re-tracked, ${String(Math.round(this.tookMs))} ms after first contact`,
    ].join('\n');
  }
}
