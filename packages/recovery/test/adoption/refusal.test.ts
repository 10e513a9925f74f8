import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES } from '@holdfast/control-protocol';
import type { ControlServerRecord } from '@holdfast/executor-contract';
import { freePort, garbageServer, hungServer } from '@holdfast/testbeds';
import {
  SCOPE,
  SHORT_READS,
  dialRecorded,
  installation,
  never,
  type Installation,
} from '../fixtures/backend.ts';
import { impostor } from '../fixtures/impostor.ts';

const SERVER_ID = 'server-on-record';
const IDENTITY = { serverId: SERVER_ID, capabilities: [...CAPABILITIES], unownedPeriodMs: 600_000 };

let place: Installation;

beforeEach(async () => {
  place = await installation('refusal');
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

/** Writes down a server as the last backend would have, with a secret that can be read. */
async function onRecord(endpoint: string, given: Partial<ControlServerRecord> = {}): Promise<void> {
  await place.records.write({
    scope: SCOPE,
    endpoint,
    serverId: SERVER_ID,
    credentialRef: await place.secrets.write('c'.repeat(43)),
    capabilities: [...CAPABILITIES],
    logFile: '/home/log',
    startedAt: '2026-11-30T12:00:00.000Z',
    ...given,
  });
}

async function adopt(): Promise<unknown> {
  return await place.backend({ settings: SHORT_READS }).adopt(SCOPE, dialRecorded, never);
}

describe('what is not adopted', () => {
  it('has nothing to adopt without a record, and gives no reason', async () => {
    expect(await adopt()).toEqual({ kind: 'absent', why: 'no_record' });
    expect(place.events).toEqual([]);
  });

  it('finds nobody at the recorded endpoint and records no_answer', async () => {
    await onRecord(`http://127.0.0.1:${String(await freePort())}`);
    expect(await adopt()).toEqual({ kind: 'absent', why: 'no_answer' });
    expect(place.events).toMatchObject([
      { name: 'adoption.attempted' },
      { name: 'adoption.refused', reason: 'no_answer' },
    ]);
  });

  it('takes a listener that stays silent over the whole read budget for no answer', async () => {
    await using peer = await hungServer();
    await onRecord(peer.url);
    expect(await adopt()).toEqual({ kind: 'absent', why: 'no_answer' });
    expect(peer.connections).toBe(2);
  });

  it('has nothing to adopt from a server that is shutting down, and gives no reason', async () => {
    await using peer = await garbageServer(
      'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n{"error":{"code":"shutting_down","message":"stopping"}}',
    );
    await onRecord(peer.url);
    expect(await adopt()).toEqual({ kind: 'absent', why: 'shutting_down' });
    expect(place.events.map(({ name }) => name)).toEqual(['adoption.attempted', 'adoption.shutting_down']);
  });

  it.each([
    ['bytes that are no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['an empty page', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['an answer that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"serverId":'],
    ['an error of another server', 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'],
  ])('takes %s for a foreign server, never for no answer [OWNERSHIP-001.6]', async (_what, bytes) => {
    await using peer = await garbageServer(bytes);
    await onRecord(peer.url);
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'identity_mismatch' });
    expect(peer.connections).toBe(1);
  });

  it.each([
    ['another identity', { ...IDENTITY, serverId: 'somebody-else' }],
    ['no identity', { ...IDENTITY, serverId: undefined }],
    ['no capability set', { ...IDENTITY, capabilities: undefined }],
  ])('asks a server with %s for nothing more, not even to stop', async (_what, identity) => {
    await using peer = await impostor({ '/api/v1/identity': identity });
    await onRecord(peer.endpoint);
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'identity_mismatch' });
    expect(peer.asked).toEqual(['GET /api/v1/identity']);
  });

  it('shows its credential to no server that cannot prove it holds it [OWNERSHIP-001.2]', async () => {
    const proofs = { proofs: [{ rotationId: 1, proof: 'A'.repeat(43) }] };
    await using peer = await impostor({ '/api/v1/identity': IDENTITY, '/api/v1/ownership/proof': proofs });
    await onRecord(peer.endpoint);
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'authentication_failure' });
    expect(peer.asked).toEqual(['GET /api/v1/identity', 'POST /api/v1/ownership/proof']);
    expect(peer.sawCredential).toBe(false);
  });

  it('judges identity before the credential, and the credential before the proof [OWNERSHIP-001.3] [OWNERSHIP-001.6]', async () => {
    await using foreign = await impostor({ '/api/v1/identity': { ...IDENTITY, serverId: 'somebody-else' } });
    await onRecord(foreign.endpoint, { credentialRef: 'gone' });
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'identity_mismatch' });

    await using mute = await impostor({ '/api/v1/identity': IDENTITY });
    await onRecord(mute.endpoint, { credentialRef: 'gone' });
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'credential_unavailable' });
    expect(mute.asked).toEqual(['GET /api/v1/identity']);
  });

  it('takes a secret that cannot be a credential for none', async () => {
    await using peer = await impostor({ '/api/v1/identity': IDENTITY });
    await onRecord(peer.endpoint, { credentialRef: await place.secrets.write('not a\r\ncredential') });
    expect(await adopt()).toMatchObject({ kind: 'refused', reason: 'credential_unavailable' });
  });
});
