import { missingCapabilities, type Identity, type OwnershipDetails } from '@holdfast/control-protocol';
import { ControlClient } from '@holdfast/control-protocol/client';
import type { ControlServerRecord, FreshServer, OwnedControlServer } from '@holdfast/executor-contract';
import { boundedRead, type BoundedRead } from '../reconstruction/bounded-read.ts';
import { CALL_TIMEOUT_MS, type OwnershipContext } from './context.ts';
import { driveServer } from './owned-control-server.ts';
import { removeSecrets } from './remove-secrets.ts';
import { BootstrapError } from './server-errors.ts';

/**
 * Takes first ownership of a server that was just started: nonce for credential, then secret, then record, both durable
 * before renewal starts (OWNERSHIP-001.1). Rejects with {@link BootstrapError}, and with what a store rejects with.
 */
export async function bootstrapServer(
  context: OwnershipContext,
  scope: string,
  fresh: FreshServer,
  signal: AbortSignal,
): Promise<OwnedControlServer> {
  const { settings, spent, crashPoint } = context;
  const replaced = await context.records.read(scope);
  const stranger = new ControlClient({ endpoint: fresh.endpoint, timeoutMs: CALL_TIMEOUT_MS });
  const failed = (why: string): BootstrapError =>
    new BootstrapError({ scope, endpoint: fresh.endpoint, why });
  const read = <Value>(what: string, result: BoundedRead<Value>): Value => {
    if (result.kind === 'read') return result.value;
    throw failed(`${what}: ${result.error.message}`);
  };

  const identity: Identity = read(
    'identity',
    await boundedRead(
      { settings, signal, retryAnswered: true },
      async (limits) => await stranger.call('getIdentity', {}, limits),
    ),
  );
  crashPoint('bootstrap.identity_read');
  const missing = missingCapabilities(context.requiredCapabilities, identity.capabilities);
  if (missing.length > 0) throw failed(`it lacks ${missing.join(', ')}`);

  // One attempt: the nonce is good for one.
  const { credential } = read(
    'bootstrap',
    await boundedRead(
      { settings: { ...settings, recoveryReadRetries: 0 }, signal, retryAnswered: false },
      async (limits) => await stranger.call('bootstrap', { nonce: fresh.nonce }, limits),
    ),
  );
  crashPoint('bootstrap.answered');
  const details: OwnershipDetails = read(
    'ownership',
    await boundedRead(
      { settings, signal, retryAnswered: true },
      async (limits) => await stranger.withCredential(credential).call('getOwnership', {}, limits),
    ),
  );
  if (details.serverId !== identity.serverId) throw failed('another server answers there by now');
  if (details.installation.home !== context.home) throw failed('it belongs to another installation');

  crashPoint('bootstrap.authenticated');

  const credentialRef = await context.secrets.write(credential);
  crashPoint('bootstrap.secret_written');
  const record: ControlServerRecord = {
    scope,
    endpoint: fresh.endpoint,
    serverId: identity.serverId,
    credentialRef,
    capabilities: identity.capabilities,
    logFile: details.logFile,
    startedAt: details.startedAt,
  };
  try {
    await context.records.write(record);
  } catch (error) {
    // Whoever started the server ends it now, so nobody will need the secret, even if the record was written after all.
    await removeSecrets(context, scope, [credentialRef]);
    throw error;
  }
  crashPoint('bootstrap.record_written');
  const owned = driveServer(context, {
    record,
    dialled: fresh,
    credential,
    unownedPeriodMs: identity.unownedPeriodMs,
  });
  context.onEvent({ name: 'ownership.started', scope, serverId: identity.serverId });
  crashPoint('bootstrap.renewing');
  const forgotten = replaced === null ? [] : spent.takeReplaced(replaced);
  if (forgotten.length > 0) {
    await removeSecrets(context, scope, forgotten);
    crashPoint('bootstrap.old_secret_removed');
  }
  return owned;
}
