import { ControlError } from '@holdfast/control-protocol';

/** The two answers by which a server tells a backend that another one drives it (OWNERSHIP-002.3). */
export type Loss = 'credential_superseded' | 'credential_unknown';

/** The loss that an error of a call tells of, or undefined when it tells of none. */
export function lossIn(error: unknown): Loss | undefined {
  if (!(error instanceof ControlError)) return undefined;
  const { code } = error;
  return code === 'credential_superseded' || code === 'credential_unknown' ? code : undefined;
}
