import { ControlError } from '@holdfast/control-protocol';

const MESSAGES = {
  credential_required: 'This operation needs a credential: send "Authorization: Bearer <credential>".',
  credential_unknown: 'This credential is not one of this server; adopt it with the recorded one.',
  credential_superseded:
    'Another backend has adopted this server; only adopting again gives a new credential.',
  rotation_unknown: 'This rotation was never issued; confirm the one that rotate answered.',
  bootstrap_consumed: 'The bootstrap has been used; a server gives its first credential once.',
} as const;

/** The refusal of a credential, in the words of the protocol. */
export function credentialError(code: keyof typeof MESSAGES): ControlError {
  return new ControlError(code, MESSAGES[code]);
}
