import type { Instance } from '@holdfast/control-protocol';
import type { ExecutionRecord } from '@holdfast/executor-contract';

/** A live instance and the control server it was found on. */
export interface ScopedInstance {
  readonly scope: string;
  readonly instance: Instance;
}

/** What is to happen to a row or an instance. Each row and each instance is in exactly one decision. */
export type Correlation =
  | { readonly kind: 'retrack'; readonly row: ExecutionRecord; readonly instance: ScopedInstance }
  | {
      readonly kind: 'stop';
      readonly instance: ScopedInstance;
      readonly why: 'no_row' | 'passthrough' | 'duplicate' | 'ambiguous';
    }
  | { readonly kind: 'leave'; readonly row: ExecutionRecord; readonly why: 'no_instance' | 'ambiguous' };

/**
 * Which live instance belongs to which row, by session. Total, independent of the order of its input, and the same for the
 * same input (SURVIVAL-002.2, .6, .7, .10).
 */
export function correlate(
  instances: readonly ScopedInstance[],
  rows: readonly ExecutionRecord[],
): Correlation[] {
  const instancesOf = Map.groupBy(instances, ({ instance }) => instance.sessionId);
  const rowsOf = Map.groupBy(rows, ({ sessionId }) => sessionId);
  const sessionIds = [...new Set([...rowsOf.keys(), ...instancesOf.keys()])].toSorted();
  return sessionIds.flatMap((sessionId) =>
    correlateSession(
      (instancesOf.get(sessionId) ?? []).toSorted(byPlace),
      (rowsOf.get(sessionId) ?? []).toSorted(byExecution),
    ),
  );
}

function correlateSession(
  instances: readonly ScopedInstance[],
  rows: readonly ExecutionRecord[],
): Correlation[] {
  const managed = rows.filter(({ sessionMode }) => sessionMode !== 'passthrough');
  const passthrough = rows
    .filter(({ sessionMode }) => sessionMode === 'passthrough')
    .map((row) => leave(row, 'no_instance'));
  if (managed.length === 0) {
    const why = rows.length === 0 ? 'no_row' : 'passthrough';
    return [...passthrough, ...instances.map((instance) => stop(instance, why))];
  }
  if (instances.length === 0) return [...passthrough, ...managed.map((row) => leave(row, 'no_instance'))];

  const kept = pairToKeep(instances, managed);
  const left = kept === undefined ? 'ambiguous' : 'no_instance';
  const stopped = kept === undefined ? 'ambiguous' : 'duplicate';
  return [
    ...passthrough,
    ...(kept === undefined ? [] : [{ kind: 'retrack', ...kept } as const]),
    ...managed.filter((row) => row !== kept?.row).map((row) => leave(row, left)),
    ...instances.filter((instance) => instance !== kept?.instance).map((instance) => stop(instance, stopped)),
  ];
}

/** One row and one instance belong together; of more, the only two that name the same execution. */
function pairToKeep(
  instances: readonly ScopedInstance[],
  rows: readonly ExecutionRecord[],
): { row: ExecutionRecord; instance: ScopedInstance } | undefined {
  const candidates = rows.flatMap((row) => instances.map((instance) => ({ row, instance })));
  if (candidates.length === 1) return candidates[0];
  const named = candidates.filter(({ row, instance }) => row.executionId === instance.instance.executionId);
  return named.length === 1 ? named[0] : undefined;
}

function leave(row: ExecutionRecord, why: 'no_instance' | 'ambiguous'): Correlation {
  return { kind: 'leave', row, why };
}

function stop(
  instance: ScopedInstance,
  why: 'no_row' | 'passthrough' | 'duplicate' | 'ambiguous',
): Correlation {
  return { kind: 'stop', instance, why };
}

function byPlace(a: ScopedInstance, b: ScopedInstance): number {
  return compare(a.scope, b.scope) || compare(a.instance.instanceId, b.instance.instanceId);
}

function byExecution(a: ExecutionRecord, b: ExecutionRecord): number {
  return compare(a.executionId, b.executionId) || compare(a.instanceId, b.instanceId);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
