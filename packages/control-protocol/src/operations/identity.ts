import { z } from 'zod';
import { Id, Milliseconds } from '../identifiers/id.ts';
import { MAX_OPEN_BODY_BYTES, operation } from './operation.ts';

/** All that an unauthenticated caller learns about a server (OWNERSHIP-001.11). */
export const Identity = z.object({
  /** Opaque, random, new with every server process. */
  serverId: Id,
  capabilities: z.array(z.string()),
  /** The unowned period in force. */
  unownedPeriodMs: Milliseconds,
});
export type Identity = z.infer<typeof Identity>;

export const identityOperations = {
  getIdentity: operation({
    summary: 'Tells who the server is and what it can do.',
    method: 'GET',
    path: '/identity',
    access: 'open',
    maxBodyBytes: MAX_OPEN_BODY_BYTES,
    response: Identity,
  }),
};
