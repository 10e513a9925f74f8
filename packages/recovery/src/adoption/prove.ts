import { timingSafeEqual } from 'node:crypto';
import { ownershipProof } from '@holdfast/control-protocol';
import type { ControlClient } from '@holdfast/control-protocol/client';
import { boundedRead, type BoundedRead } from '../reconstruction/bounded-read.ts';
import type { OwnershipContext } from './context.ts';

const CHALLENGE_BYTES = 32;

/** Who is to prove what. */
export interface ProofRequest {
  readonly client: ControlClient;
  readonly route: 'direct' | 'tunnel';
  readonly serverId: string;
  readonly credential: string;
}

/**
 * Has the server prove that it holds the credential, with a challenge that is fresh for each attempt and bound to the address that
 * was dialled (OWNERSHIP-001.10). Reads `true` when one of its proofs is the one that the credential makes.
 */
export async function proveServer(
  { random, settings }: Pick<OwnershipContext, 'random' | 'settings'>,
  { client, route, serverId, credential }: ProofRequest,
): Promise<BoundedRead<boolean>> {
  const audience = route === 'direct' ? client.audience : '';
  return await boundedRead({ settings, retryAnswered: false }, async (limits) => {
    const challenge = Buffer.from(random(CHALLENGE_BYTES)).toString('base64url');
    const { proofs } = await client.call('proveOwnership', { challenge, audience }, limits);
    const expected = Buffer.from(await ownershipProof({ credential, serverId, audience, challenge }));
    return proofs.some(({ proof }) => {
      const given = Buffer.from(proof);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  });
}
