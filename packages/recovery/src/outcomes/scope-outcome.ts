import type { ScopeEnumeration, ScopeReport } from '@holdfast/executor-contract';
import type { RowOutcome } from './row-outcome.ts';

/**
 * The outcome of a row that no live instance belongs to, by what is known of its control server. That it has no instance is
 * certain only where its server was enumerated, or is gone (SURVIVAL-002.7, .12, 005.6).
 */
export function outcomeOfScope(
  scope: string,
  reports: readonly ScopeReport[],
  enumerations: readonly ScopeEnumeration[],
): RowOutcome {
  const report = reports.find((candidate) => candidate.scope === scope);
  if (report === undefined) return { kind: 'not_enumerated' };
  if (report.server === 'adopted') {
    const enumeration = enumerations.find((candidate) => candidate.scope === scope);
    return { kind: enumeration?.kind === 'enumerated' ? 'no_instance' : 'not_enumerated' };
  }
  if (report.refusal !== null && report.refusal !== 'no_answer') {
    return { kind: 'adoption_refused', reason: report.refusal };
  }
  return { kind: report.server === 'started' ? 'no_instance' : 'not_enumerated' };
}
