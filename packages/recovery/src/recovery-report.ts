import type { ExecutionRecord, ScopeReport } from '@holdfast/executor-contract';
import type { RowLiveness } from './liveness/judge-row.ts';
import { describeOutcome, type RowOutcome } from './outcomes/row-outcome.ts';
import { becomesOf } from './reconciliation/plan.ts';

/** What recovery came to for one row. */
export interface RowReport {
  readonly row: ExecutionRecord;
  readonly outcome: RowOutcome;
  /** Taken after all outcomes; absent until then. */
  readonly liveness?: RowLiveness;
}

const BECOMES = {
  live: '',
  repaired: '; row repaired',
  kept: '; row kept, launches are refused while its agent may live',
} as const;

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

  /** The same report with the liveness that each row was judged by; rows that were not judged stay as they are. */
  withLiveness(judged: ReadonlyMap<ExecutionRecord, RowLiveness>): RecoveryReport {
    const rows = this.rows.map((report) => {
      const liveness = judged.get(report.row);
      return liveness === undefined ? report : { ...report, liveness };
    });
    return new RecoveryReport({ scopes: this.scopes, rows, tookMs: this.tookMs });
  }

  /** One line a scope and one for each of its warnings, one a row with its evidence, one in all. */
  toString(): string {
    return [
      ...this.scopes.flatMap(({ scope, server, detail, warnings }) => [
        `${scope}: ${server} (${detail})`,
        ...warnings.map((warning) => `${scope}: warning: ${warning}`),
      ]),
      ...this.rows.map(describeRow),
      this.#inAll(),
    ].join('\n');
  }

  #inAll(): string {
    const { retracked = 0, ...others } = this.counts;
    const told = Object.entries(others).map(([kind, count]) => `${String(count)} ${kind}`);
    const rest = told.length === 0 ? '' : ` (${told.join(', ')})`;
    return `${String(retracked)} of ${String(this.rows.length)} re-tracked${rest}, ${String(Math.round(this.tookMs))} ms after first contact`;
  }
}

/** e.g. `session s1: no live instance [execution e1, instance i1 on standalone]; gone: process 7 has ended; row repaired` */
function describeRow({ row, outcome, liveness }: RowReport): string {
  const where = `[execution ${row.executionId}, instance ${row.instanceId} on ${row.scope}]`;
  const told = `session ${row.sessionId}: ${describeOutcome(outcome)} ${where}`;
  if (liveness === undefined || outcome.kind === 'retracked') return told;
  return `${told}; ${liveness.liveness}: ${liveness.why}${BECOMES[becomesOf({ outcome, liveness })]}`;
}
