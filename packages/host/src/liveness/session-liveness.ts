import type { Liveness } from '@holdfast/recovery';
import type { Ledger } from '@holdfast/turn-ledger';
import type { HostLiveness } from './host-liveness.ts';

/** Whether a session has an agent that runs, as far as it can be told, and why. */
export interface SessionLiveness {
  /** `unknown`: no second agent is started, and nothing is repaired. */
  readonly liveness: Liveness;
  /** One short sentence for a person. */
  readonly why: string;
}

/** Looks afresh: at the session's row, and for instances of it on the control servers of this host. */
export async function sessionLiveness(
  { liveness, ledger }: { readonly liveness: HostLiveness; readonly ledger: Ledger },
  sessionId: string,
  signal: AbortSignal,
): Promise<SessionLiveness & { readonly executionId: string | null }> {
  const [row] = await ledger.executionRecords.listLive({ sessionId });
  const enumerations = await liveness.enumerate(signal);
  const [found] = enumerations.instancesOf(sessionId);
  if (found !== undefined && row === undefined) {
    const why = `instance ${found.instanceId} of it is on ${found.scope}`;
    return { liveness: 'alive', why, executionId: null };
  }
  // A row is written before an agent is started, so that one without a row has none.
  if (row === undefined) {
    return { liveness: 'gone', why: 'nothing claims to run an agent for it', executionId: null };
  }
  const { liveness: answer, why } = await liveness.judge(row, enumerations, signal);
  return { liveness: answer, why, executionId: row.executionId };
}
