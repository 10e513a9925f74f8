import { Credential, type Identity, type OwnershipDetails } from '@holdfast/control-protocol';
import { ControlClient, NoAnswerError } from '@holdfast/control-protocol/client';
import type { AdoptionResult, ControlServerRecord, Dial, Dialled } from '@holdfast/executor-contract';
import { boundedRead, type BoundedRead } from '../reconstruction/bounded-read.ts';
import { CALL_TIMEOUT_MS, type OwnershipContext } from './context.ts';
import { proveServer } from './prove.ts';
import { absent, refused } from './refusal.ts';
import { endIn } from './server-end.ts';

/** A server that has proven to be the one on record, and that has accepted our credential. */
export interface AuthenticatedServer {
  readonly kind: 'authenticated';
  readonly dialled: Dialled;
  readonly client: ControlClient;
  readonly identity: Identity;
  readonly details: OwnershipDetails;
}

type NotOurs = Extract<AdoptionResult, { kind: 'absent' | 'refused' }>;

/**
 * The first half of adoption: identity, proof, credential, in this order; the first that fails is the reason (OWNERSHIP-001.3, .6).
 * Until the server has proven itself it is asked for nothing but identity and proof, and sees no credential (OWNERSHIP-001.2).
 */
export async function authenticate(
  context: OwnershipContext,
  record: ControlServerRecord,
  dial: Dial,
  signal: AbortSignal,
): Promise<AuthenticatedServer | NotOurs> {
  const { crashPoint, spent } = context;
  const dialled = await dial(record, signal);
  crashPoint('adoption.dialled');
  const stranger = new ControlClient({ endpoint: dialled.endpoint, timeoutMs: CALL_TIMEOUT_MS });

  const identity = await boundedRead(
    { settings: context.settings, retryAnswered: false },
    async (limits) => await stranger.call('getIdentity', {}, limits),
  );
  if (identity.kind === 'unread' && identity.error instanceof NoAnswerError) {
    if (endIn(dialled.route, identity.error) === 'no_answer') spent.serverIsGone(record.serverId);
    return absent('no_answer');
  }
  if (identity.kind !== 'read') return failure(identity, 'identity_mismatch');
  const { serverId } = identity.value;
  if (serverId !== record.serverId) {
    return refused('identity_mismatch', `${dialled.endpoint} is now another server, ${serverId}`);
  }

  crashPoint('adoption.identity_read');

  const credential = await readSecret(context, record);
  if (credential === undefined) {
    return refused('credential_unavailable', `the secret ${record.credentialRef} cannot be read`);
  }
  crashPoint('adoption.secret_read');

  const proof = await proveServer(context, { client: stranger, route: dialled.route, serverId, credential });
  if (proof.kind !== 'read') return failure(proof, 'authentication_failure');
  if (!proof.value)
    return refused('authentication_failure', 'the server does not hold the credential on record');
  crashPoint('adoption.proven');

  const client = stranger.withCredential(credential);
  const details = await boundedRead(
    { settings: context.settings, retryAnswered: false },
    async (limits) => await client.call('getOwnership', {}, limits),
  );
  if (details.kind !== 'read') {
    // It has proven itself, so it is believed.
    if (details.error.code === 'shutting_down') spent.serverIsGone(serverId);
    return failure(details, 'authentication_failure');
  }
  if (details.value.serverId !== serverId || details.value.installation.home !== context.home) {
    return refused('identity_mismatch', 'the server belongs to another installation');
  }
  crashPoint('adoption.authenticated');
  return { kind: 'authenticated', dialled, client, identity: identity.value, details: details.value };
}

/** A server that says it is stopping is absent, whatever it was asked; anything else refuses. */
function failure(
  failed: Exclude<BoundedRead<never>, { kind: 'read' }>,
  reason: 'identity_mismatch' | 'authentication_failure',
): NotOurs {
  if (failed.error.code === 'shutting_down') return absent('shutting_down');
  return refused(reason, failed.error.message);
}

async function readSecret(
  { secrets }: Pick<OwnershipContext, 'secrets'>,
  { credentialRef }: ControlServerRecord,
): Promise<string | undefined> {
  try {
    return Credential.safeParse(await secrets.read(credentialRef)).data;
  } catch {
    // Whatever the store's trouble is, the credential cannot be had; its words may hold paths or more.
    return undefined;
  }
}
