import { ControlError, missingCapabilities } from '@holdfast/control-protocol';
import type { AdoptionResult, ControlServerRecord, Dial } from '@holdfast/executor-contract';
import { boundedRead } from '../reconstruction/bounded-read.ts';
import { authenticate, type AuthenticatedServer } from './authenticate.ts';
import type { OwnershipContext } from './context.ts';
import { driveServer } from './owned-control-server.ts';
import { proveServer } from './prove.ts';
import { absent, refused } from './refusal.ts';
import { removeSecret } from './remove-secret.ts';
import { stopServer } from './stop-server.ts';

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
  { client, identity }: AuthenticatedServer,
  missing: readonly string[],
): Promise<AdoptionResult> {
  const stop = await stopServer(context, client, identity.serverId);
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
  const { settings } = context;
  const { serverId } = identity;
  let rotation;
  try {
    // Not retried: whether the server has rotated is unknown then, and the next adoption finds out.
    rotation = await client.call('rotate', {}, { timeoutMs: settings.recoveryReadTimeoutMs });
  } catch (error) {
    if (error instanceof ControlError && error.code === 'shutting_down') return absent('shutting_down');
    return refused('rotation_failure', `the credential was not replaced: ${messageOf(error)}`);
  }
  const { credential, rotationId, replayed } = rotation;

  const proof = await proveServer(context, { client, route: dialled.route, serverId, credential });
  if (proof.kind !== 'read' && proof.error.code === 'shutting_down') return absent('shutting_down');
  if (proof.kind !== 'read' || !proof.value) {
    return refused('rotation_failure', 'the server did not prove that it holds the replacement');
  }

  const next: Omit<ControlServerRecord, 'credentialRef'> = {
    scope: record.scope,
    endpoint: record.endpoint,
    serverId,
    capabilities: identity.capabilities,
    logFile: details.logFile,
    startedAt: details.startedAt,
  };
  let stored: ControlServerRecord;
  try {
    stored = { ...next, credentialRef: await context.secrets.write(credential) };
    // A write that fails may have happened, so the new secret stays whatever comes.
    await context.records.write(stored);
  } catch (error) {
    return refused('rotation_failure', `the replacement could not be stored: ${messageOf(error)}`);
  }

  // Only now: both writes are durable, so a crash leaves a credential both sides hold (OWNERSHIP-002.7).
  const confirmed = await boundedRead(
    { settings, retryAnswered: true },
    async (limits) => await client.withCredential(credential).call('confirm', { rotationId }, limits),
  );
  if (confirmed.kind !== 'read') {
    return refused('rotation_failure', `the replacement was not confirmed: ${confirmed.error.message}`);
  }
  const owned = driveServer(context, {
    record: stored,
    endpoint: dialled.endpoint,
    credential,
    unownedPeriodMs: identity.unownedPeriodMs,
  });
  await removeSecret(context, record);
  context.onEvent({ name: 'adoption.adopted', scope: record.scope, serverId, rotationId, replayed });
  return { kind: 'adopted', server: owned };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
