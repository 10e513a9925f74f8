import { missingCapabilities } from '@holdfast/control-protocol';
import type { AdoptionResult, ControlServerRecord, Dial } from '@holdfast/executor-contract';
import { boundedRead } from '../reconstruction/bounded-read.ts';
import { authenticate, type AuthenticatedServer } from './authenticate.ts';
import type { OwnershipContext } from './context.ts';
import { driveServer } from './owned-control-server.ts';
import { proveServer } from './prove.ts';
import { absent, refused } from './refusal.ts';
import { removeSecrets } from './remove-secrets.ts';
import { stopServer, targetOf } from './stop-server.ts';
import { messageOf } from '../events/message-of.ts';

/**
 * Takes over the server on record: prove, authenticate, compare capabilities, rotate, store, confirm (OWNERSHIP-001, -002, -004).
 * A crash between any two steps leaves a credential that both sides hold, and the next attempt goes through.
 */
export async function adoptServer(
  context: OwnershipContext,
  record: ControlServerRecord,
  dial: Dial,
  signal: AbortSignal,
): Promise<AdoptionResult> {
  const server = await authenticate(context, record, dial, signal);
  if (server.kind !== 'authenticated') return server;
  const missing = missingCapabilities(context.requiredCapabilities, server.identity.capabilities);
  if (missing.length > 0) return await stopIncompatible(context, server, missing);
  return await takeOver(context, record, server);
}

async function stopIncompatible(
  context: OwnershipContext,
  server: AuthenticatedServer,
  missing: readonly string[],
): Promise<AdoptionResult> {
  const stop = await stopServer(context, targetOf(server));
  if (stop.kind === 'stopped') return { kind: 'incompatible_stopped', missing };
  return refused(
    'capability_incompatibility',
    `the server lacks ${missing.join(', ')} and could not be stopped: ${stop.detail}`,
  );
}

async function takeOver(
  context: OwnershipContext,
  record: ControlServerRecord,
  { client, dialled, identity, details }: AuthenticatedServer,
): Promise<AdoptionResult> {
  const { settings, secrets, records, spent, crashPoint } = context;
  const { serverId } = identity;
  await removeSecrets(context, record.scope, spent.takeLeftOvers(record));

  // Not retried: whether the server has rotated is unknown then, and the next adoption finds out.
  const rotated = await boundedRead(
    { settings: { ...settings, recoveryReadRetries: 0 }, retryAnswered: false },
    async (limits) => await client.call('rotate', {}, limits),
  );
  if (rotated.kind !== 'read') {
    if (rotated.error.code === 'shutting_down') return shuttingDown(context, serverId);
    return refused('rotation_failure', `the credential was not replaced: ${rotated.error.message}`);
  }
  const { credential, rotationId, replayed } = rotated.value;
  crashPoint('rotation.answered');

  const proof = await proveServer(context, { client, route: dialled.route, serverId, credential });
  if (proof.kind !== 'read' && proof.error.code === 'shutting_down') {
    return shuttingDown(context, serverId);
  }
  if (proof.kind !== 'read' || !proof.value) {
    return refused('rotation_failure', 'the server did not prove that it holds the replacement');
  }
  crashPoint('rotation.proven');

  let credentialRef: string;
  try {
    credentialRef = await secrets.write(credential);
  } catch (error) {
    return refused('rotation_failure', `the replacement could not be stored: ${messageOf(error)}`);
  }
  crashPoint('rotation.secret_written');
  const stored: ControlServerRecord = {
    scope: record.scope,
    endpoint: record.endpoint,
    serverId,
    credentialRef,
    capabilities: identity.capabilities,
    logFile: details.logFile,
    startedAt: details.startedAt,
  };
  try {
    await records.write(stored);
  } catch (error) {
    // A write that fails may have happened, so both secrets stay.
    spent.adoptionFailed(serverId, [record.credentialRef, credentialRef]);
    return refused('rotation_failure', `the replacement could not be recorded: ${messageOf(error)}`);
  }
  crashPoint('rotation.record_written');

  // Only now: both writes are durable, so a crash leaves a credential both sides hold (OWNERSHIP-002.7).
  const confirmed = await boundedRead(
    { settings, retryAnswered: true },
    async (limits) => await client.withCredential(credential).call('confirm', { rotationId }, limits),
  );
  if (confirmed.kind !== 'read') {
    spent.adoptionFailed(serverId, [record.credentialRef, credentialRef]);
    return refused('rotation_failure', `the replacement was not confirmed: ${confirmed.error.message}`);
  }
  crashPoint('rotation.confirmed');
  const owned = driveServer(context, {
    record: stored,
    dialled,
    credential,
    unownedPeriodMs: identity.unownedPeriodMs,
  });
  crashPoint('rotation.renewing');
  await removeSecrets(context, record.scope, [record.credentialRef]);
  crashPoint('rotation.old_secret_removed');
  context.onEvent({ name: 'adoption.adopted', scope: record.scope, serverId, rotationId, replayed });
  return { kind: 'adopted', server: owned };
}

function shuttingDown({ spent }: OwnershipContext, serverId: string): AdoptionResult {
  spent.serverIsGone(serverId);
  return absent('shutting_down');
}
