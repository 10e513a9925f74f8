import { z } from 'zod';
import { Id, Milliseconds, Timestamp } from '../identifiers/id.ts';
import { Challenge, OwnershipProofs, RotationId } from '../ownership/proof.ts';
import { MAX_OPEN_BODY_BYTES, operation } from './operation.ts';

/** A credential as it is issued: 32 random bytes in base64url, kept in memory by the server. */
export const Credential = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url');

/** What a server tells a backend that has authenticated. */
export const OwnershipDetails = z.object({
  serverId: Id,
  /** The newest rotation. */
  rotationId: RotationId,
  confirmed: z.boolean(),
  installation: z.object({ home: z.string() }),
  logFile: z.string(),
  startedAt: Timestamp,
});
export type OwnershipDetails = z.infer<typeof OwnershipDetails>;

export const ownershipOperations = {
  proveOwnership: operation({
    summary: 'Proves, for a fresh challenge, that the server holds its acceptable credentials.',
    method: 'POST',
    path: '/ownership/proof',
    access: 'open',
    maxBodyBytes: MAX_OPEN_BODY_BYTES,
    request: z.strictObject({ challenge: Challenge, audience: z.string().max(300).optional() }),
    response: OwnershipProofs,
    errors: ['audience_mismatch'],
  }),
  bootstrap: operation({
    summary: 'Exchanges the one-time nonce of a fresh server for its first credential; once.',
    method: 'POST',
    path: '/ownership/bootstrap',
    access: 'open',
    maxBodyBytes: MAX_OPEN_BODY_BYTES,
    request: z.strictObject({ nonce: z.string().min(1).max(512) }),
    response: z.object({ rotationId: RotationId, credential: Credential }),
    errors: ['bootstrap_rejected', 'bootstrap_consumed', 'shutting_down'],
    noStore: true,
  }),
  getOwnership: operation({
    summary: 'Tells whose the server is and where its log is.',
    method: 'GET',
    path: '/ownership',
    access: 'acceptable',
    response: OwnershipDetails,
  }),
  rotate: operation({
    summary:
      'Replaces the credential; repeated with a superseded, unconfirmed one it answers the same again.',
    method: 'POST',
    path: '/ownership/rotate',
    access: 'acceptable',
    response: z.object({ rotationId: RotationId, credential: Credential, replayed: z.boolean() }),
    errors: ['shutting_down'],
    noStore: true,
  }),
  confirm: operation({
    summary: 'Says that the rotation is durably recorded; the superseded credential is gone from here on.',
    method: 'POST',
    path: '/ownership/confirm',
    access: 'driver',
    request: z.strictObject({ rotationId: RotationId }),
    response: z.object({ rotationId: RotationId, effective: z.boolean() }),
    errors: ['rotation_unknown'],
  }),
  claim: operation({
    summary: 'Renews ownership for one unowned period.',
    method: 'POST',
    path: '/ownership/claim',
    access: 'driver',
    response: z.object({ expiresInMs: Milliseconds }),
    errors: ['shutting_down'],
  }),
  shutdown: operation({
    summary: 'Stops every instance and the server; again answers the same.',
    method: 'POST',
    path: '/ownership/shutdown',
    access: 'acceptable',
    status: 202,
    response: z.object({ stopping: z.literal(true), instances: z.int().nonnegative() }),
  }),
};
