import { z } from 'zod';
import { SequenceNumber } from '../identifiers/id.ts';

const LABEL = 'holdfast/ownership-proof/v1';

/** At least 32 random bytes in base64url without padding, fresh for each attempt. */
export const Challenge = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43,512}$/, 'must be at least 32 random bytes in base64url');

/** A number that rises with every credential a control server issues (OWNERSHIP-002.6). */
export const RotationId = z.int().positive();
export type RotationId = z.infer<typeof RotationId>;

/** What a proof binds together. */
export interface ProofInput {
  readonly credential: string;
  readonly serverId: string;
  /** The `host:port` that the backend dialled, or the empty string through a tunnel. */
  readonly audience: string;
  /** The challenge exactly as it was sent. */
  readonly challenge: string;
}

/**
 * The proof that its maker holds a credential: HMAC-SHA-256 over label, server id, audience and challenge, separated by
 * NUL, in base64url (OWNERSHIP-001.10). It reveals nothing about the credential and is worth nothing for another
 * challenge, server or address.
 */
export async function ownershipProof({
  credential,
  serverId,
  audience,
  challenge,
}: ProofInput): Promise<string> {
  const text = new TextEncoder();
  const key = await crypto.subtle.importKey(
    'raw',
    text.encode(credential),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  );
  const message = text.encode([LABEL, serverId, audience, challenge].join('\0'));
  return Buffer.from(await crypto.subtle.sign('HMAC', key, message)).toString('base64url');
}

/** One proof for each credential that the server accepts at the moment, at most two. */
export const OwnershipProofs = z.object({
  proofs: z.array(z.object({ rotationId: SequenceNumber, proof: z.string() })).max(2),
});
