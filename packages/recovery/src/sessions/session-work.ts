import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { Correlation } from '../correlation/correlate.ts';

type Decision<Kind extends Correlation['kind']> = Extract<Correlation, { kind: Kind }>;

/** All that correlation decided about one session. */
export interface SessionWork {
  readonly sessionId: string;
  readonly retrack: Decision<'retrack'> | undefined;
  readonly stops: ReadonlyArray<Decision<'stop'>>;
  readonly leaves: ReadonlyArray<Decision<'leave'>>;
}

/** The decisions session by session: recovery of one never waits for another (SURVIVAL-002.11). */
export function sessionsOf(decisions: readonly Correlation[]): SessionWork[] {
  return [...Map.groupBy(decisions, sessionIdOf)].map(([sessionId, ofSession]) => ({
    sessionId,
    retrack: ofSession.find((decision) => decision.kind === 'retrack'),
    stops: ofSession.filter((decision) => decision.kind === 'stop'),
    leaves: ofSession.filter((decision) => decision.kind === 'leave'),
  }));
}

/** The rows that the decisions are about. */
export function rowsOf({ retrack, leaves }: SessionWork): ExecutionRecord[] {
  return [retrack, ...leaves].flatMap((decision) => (decision === undefined ? [] : [decision.row]));
}

/** The live instances that the decisions are about. */
export function instanceIdsOf({ retrack, stops }: SessionWork): string[] {
  return [retrack, ...stops].flatMap((decision) =>
    decision === undefined ? [] : [decision.instance.instance.instanceId],
  );
}

function sessionIdOf(decision: Correlation): string {
  return decision.kind === 'stop' ? decision.instance.instance.sessionId : decision.row.sessionId;
}
