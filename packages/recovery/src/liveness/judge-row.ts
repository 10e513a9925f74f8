import type { ExecutionRecord, ProcessEvidence } from '@holdfast/executor-contract';
import {
  classifyLiveness,
  describeSituation,
  type Liveness,
  type LivenessSituation,
} from './classify-liveness.ts';
import type { Enumerations } from './enumerations.ts';

/** What the liveness of rows is told from. */
export interface LivenessPorts {
  /** Whether agents outlive their backend. */
  readonly survival: boolean;
  /** How this backend stands to the row's session. */
  readonly standingOf: (
    row: ExecutionRecord,
  ) => 'launched_here' | 'recovering' | 'stop_in_flight' | 'inherited';
  /** Whether a server of the scope that this backend was refused by may still be there. */
  readonly refusedServer: (scope: string) => Promise<'none' | 'answers' | 'gone'>;
  /** Looks for the row's process. */
  readonly probe: (row: ExecutionRecord) => Promise<ProcessEvidence>;
}

/** A row's liveness, and why. */
export interface RowLiveness {
  readonly liveness: Liveness;
  /** The situation it was told from. */
  readonly situation: LivenessSituation['kind'];
  /** In a few words for a person. */
  readonly why: string;
}

/** The liveness of one row by one enumeration; what the situation does not call for is not asked. */
export async function judgeRow(
  row: ExecutionRecord,
  enumerations: Enumerations,
  ports: LivenessPorts,
): Promise<RowLiveness> {
  const { situation, detail = '' } = await situationOf(row, enumerations, ports);
  return {
    liveness: classifyLiveness(situation),
    situation: situation.kind,
    why: describeSituation(situation, detail),
  };
}

async function situationOf(
  row: ExecutionRecord,
  enumerations: Enumerations,
  { survival, standingOf, refusedServer, probe }: LivenessPorts,
): Promise<{ readonly situation: LivenessSituation; readonly detail?: string }> {
  const byProcess = async (
    kind: 'survival_off' | 'no_server',
  ): Promise<{ readonly situation: LivenessSituation; readonly detail: string }> => {
    const { process, detail } = await probe(row);
    return { situation: { kind, process }, detail };
  };
  if (!survival) return await byProcess('survival_off');
  const standing = standingOf(row);
  if (standing === 'recovering' || standing === 'stop_in_flight') return { situation: { kind: standing } };
  const presence = enumerations.presenceOf(row);
  if (presence !== 'elsewhere') {
    return { situation: { kind: standing === 'launched_here' ? 'own' : 'adopted', presence } };
  }
  if ((await refusedServer(row.scope)) === 'answers') return { situation: { kind: 'not_adopted' } };
  return await byProcess('no_server');
}
