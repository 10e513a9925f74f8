import { ControlError } from '@holdfast/control-protocol';
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
  getIdentity: ({ serverId, capabilities, unownedPeriodMs }) => ({
    serverId,
    capabilities: [...capabilities],
    unownedPeriodMs,
  }),

  proveOwnership: async ({ ownership, audiences }, { body: { challenge, audience = '' } }) => {
    // Whoever relays a challenge from another address must not get an answer to it.
    if (audience !== '' && !audiences().has(audience)) {
      throw new ControlError('audience_mismatch', 'The audience is no address that this server listens on.');
    }
    return { proofs: await ownership.prove(challenge, audience) };
  },

  bootstrap: async ({ ownership, log, atStep }, { body: { nonce } }) => {
    const { rotationId, credential } = ownership.bootstrap(nonce);
    log.info({ rotationId }, 'the server has an owner');
    await atStep('bootstrapped');
    return { rotationId, credential };
  },

  getOwnership: ({ serverId, ownership, home, logFile, startedAt }) => ({
    serverId,
    ...ownership.rotation,
    installation: { home },
    logFile,
    startedAt,
  }),

  rotate: async ({ ownership, log, atStep }, { credential: presented }) => {
    await atStep('rotating');
    const { held, replayed } = ownership.rotate(presented);
    log.info({ rotationId: held.rotationId, replayed }, 'the credential was rotated');
    await atStep('rotated');
    return { rotationId: held.rotationId, credential: held.credential, replayed };
  },

  confirm: async ({ ownership, log, atStep }, { credential, body: { rotationId } }) => {
    await atStep('confirming');
    const effective = ownership.confirm(credential, rotationId);
    log.info({ rotationId, effective }, 'a rotation was confirmed');
    await atStep('confirmed');
    return { rotationId, effective };
  },

  claim: ({ ownership }) => ({ expiresInMs: ownership.claim() }),

  shutdown: ({ ownership }) => ({ stopping: true, instances: ownership.shutDown('shutdown') }),
};
