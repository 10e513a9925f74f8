import { planReconciliation, type RecoveryReport } from '@holdfast/recovery';
import { LedgerRowError } from '@holdfast/turn-ledger';
import type { HostServices } from '../sessions/host-services.ts';
import { settleSessions } from '../sessions/settle.ts';
import type { SessionLiveness } from './session-liveness.ts';

/** A row of the inventory that this host does not drive, and what a pass over them came to. */
export interface ReconciledRow extends SessionLiveness {
  readonly sessionId: string;
  readonly executionId: string;
  /** Its process is gone, so it claims none any more and the session can be launched. */
  readonly repaired: boolean;
}

/**
 * Makes the sessions truthful that did not come back, those included that died before they had a row. Gives the report of recovery
 * with the liveness that its rows were judged by.
 */
export async function reconcileAfterRecovery(
  services: HostServices,
  recovery: RecoveryReport,
  signal: AbortSignal,
): Promise<RecoveryReport> {
  const { live, liveness } = services;
  liveness.recoveryIsOver();
  const rows = recovery.rows.map(({ row }) => row);
  const judged = recovery.withLiveness(await liveness.pass(rows, signal));
  signal.throwIfAborted();
  const named = new Set(rows.map(({ sessionId }) => sessionId));
  const rowless = (await activeSessions(services)).filter(
    (sessionId) => !named.has(sessionId) && !live.has(sessionId),
  );
  const plan = planReconciliation(judged.rows);
  await settleSessions(services, {
    sessions: [
      ...plan.sessions,
      ...rowless.map((sessionId) => ({ sessionId, session: 'reconcile', repair: [] }) as const),
    ],
  });
  return judged;
}

/**
 * A later pass over the rows that recovery left in the inventory, all of them by one enumeration: those whose processes are gone by
 * now are repaired. Sessions and tasks are true already.
 */
export async function reconcileLeftRows(
  { ledger, live, liveness }: HostServices,
  signal: AbortSignal,
): Promise<readonly ReconciledRow[]> {
  const rows = (await ledger.executionRecords.listLive()).filter(({ sessionId }) => !live.has(sessionId));
  const judged = [...(await liveness.pass(rows, signal))];
  const gone = judged.flatMap(([row, { liveness: answer }]) => (answer === 'gone' ? [row.executionId] : []));
  const repaired = new Set(await ledger.executionWriter.repair(gone));
  return judged.map(([{ sessionId, executionId }, { liveness: answer, why }]) => ({
    sessionId,
    executionId,
    liveness: answer,
    why,
    repaired: repaired.has(executionId),
  }));
}

/** One session that cannot be read must not keep the others from coming up; it is told. */
async function activeSessions({ ledger, events }: HostServices): Promise<readonly string[]> {
  try {
    const sessions = await ledger.sessions.list();
    return sessions
      .filter(({ state }) => state === 'starting' || state === 'running')
      .map(({ sessionId }) => sessionId);
  } catch (error) {
    if (!(error instanceof LedgerRowError)) throw error;
    events.publish({
      name: 'host.error',
      what: 'looking for sessions that died before they had a row',
      error,
    });
    return [];
  }
}
