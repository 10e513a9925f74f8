import { CAPABILITIES, ControlError } from '@holdfast/control-protocol';
import type { Handlers } from '../handler.ts';

/** Identity, proof and who drives. */
export const ownershipHandlers: Handlers<
  | 'getIdentity'
  | 'proveOwnership'
  | 'bootstrap'
  | 'getOwnership'
  | 'rotate'
  | 'confirm'
  | 'claim'
  | 'shutdown'
> = {
  getIdentity: ({ serverId, unownedPeriodMs }) => ({
    serverId,
    capabilities: [...CAPABILITIES],
    unownedPeriodMs,
  }),

  proveOwnership: async ({ ownership, audiences }, { body: { challenge, audience = '' } }) => {
    // Whoever relays a challenge from another address must not get an answer to it.
    if (audience !== '' && !audiences().has(audience)) {
      throw new ControlError('audience_mismatch', 'The audience is no address that this server listens on.');
    }
    return { proofs: await ownership.prove(challenge, audience) };
  },

  bootstrap: ({ ownership, log }, { body: { nonce } }) => {
    const { rotationId, credential } = ownership.bootstrap(nonce);
    log.info({ rotationId }, 'the server has an owner');
    return { rotationId, credential };
  },

  getOwnership: ({ serverId, ownership, home, logFile, startedAt }) => ({
    serverId,
    ...ownership.rotation,
    installation: { home },
    logFile,
    startedAt,
  }),

  rotate: ({ ownership, log }, { credential: presented }) => {
    const { held, replayed } = ownership.rotate(presented);
    log.info({ rotationId: held.rotationId, replayed }, 'the credential was rotated');
    return { rotationId: held.rotationId, credential: held.credential, replayed };
  },

  confirm: ({ ownership, log }, { credential, body: { rotationId } }) => {
    const effective = ownership.confirm(credential, rotationId);
    log.info({ rotationId, effective }, 'a rotation was confirmed');
    return { rotationId, effective };
  },

  claim: ({ ownership }) => ({ expiresInMs: ownership.claim() }),

  shutdown: ({ ownership }) => ({ stopping: true, instances: ownership.shutDown('shutdown') }),
};
