import type { AdoptionResult } from '@holdfast/executor-contract';

type Refused = Extract<AdoptionResult, { kind: 'refused' }>;
type Absent = Extract<AdoptionResult, { kind: 'absent' }>;

/** The server on record is not touched any more. */
export function refused(reason: Refused['reason'], detail: string): Refused {
  return { kind: 'refused', reason, detail };
}

/** There is nothing to adopt. */
export function absent(why: Absent['why']): Absent {
  return { kind: 'absent', why };
}
