import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES } from '@holdfast/control-protocol';
import { ControlClient } from '@holdfast/control-protocol/client';
import type { AdoptionResult, Dial, OwnedControlServer, Ownership } from '@holdfast/executor-contract';
import { processIsAlive } from '@holdfast/testbeds';
import type { OwnershipOptions, SecretStore } from '../../src/index.ts';
import { SCOPE, dialRecorded, installation, never, type Installation } from '../fixtures/backend.ts';
import { impostor } from '../fixtures/impostor.ts';
import { runControlServer, type RunningServer } from '../fixtures/control-server.ts';
import { proxyTo, type Proxy, type Treatment } from '../fixtures/proxy.ts';

let place: Installation;
let server: RunningServer;
let tunnel: Proxy;
let dial: Dial;
/** What the backend that started the server put on record. */
let firstCredential: string;
let firstReference: string;

beforeEach(async () => {
  place = await installation('adopt');
  server = await runControlServer(place.home);
  tunnel = await proxyTo(server.dialled.endpoint);
  dial = async () => await Promise.resolve(tunnel.dialled);
  const first = await place.backend().bootstrap(SCOPE, server.fresh, never);
  await first.release();
  firstReference = place.records.get(SCOPE).credentialRef;
  firstCredential = await place.secrets.read(firstReference);
  place.events.length = 0;
});

afterEach(async () => {
  await tunnel[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

function backend(given: Partial<OwnershipOptions> = {}): Ownership {
  return place.backend(given);
}

async function adopted(result: Promise<AdoptionResult>): Promise<OwnedControlServer> {
  const adoption = await result;
  if (adoption.kind !== 'adopted') throw new Error(`not adopted: ${JSON.stringify(adoption)}`);
  return adoption.server;
}

function client(credential: string): ControlClient {
  return new ControlClient({ endpoint: server.dialled.endpoint, credential, timeoutMs: 60_000 });
}

describe('adoption', () => {
  it('replaces the credential; confirmed, the old one authenticates nothing [OWNERSHIP-002.1]', async () => {
    const owned = await adopted(backend().adopt(SCOPE, dialRecorded, never));
    expect(owned).toMatchObject({ serverId: server.serverId, capabilities: [...CAPABILITIES] });
    expect((await owned.client.call('listInstances', {})).ownership).toEqual({
      serverId: server.serverId,
      rotationId: 2,
    });
    for (const operation of ['getOwnership', 'rotate', 'shutdown', 'listInstances'] as const) {
      await expect(client(firstCredential).call(operation, {})).rejects.toMatchObject({
        code: 'credential_unknown',
      });
    }
    expect(place.events).toMatchObject([
      { name: 'adoption.attempted' },
      { name: 'adoption.adopted', rotationId: 2, replayed: false },
    ]);
    await owned.release();
  });

  it('records the new credential and the capabilities it saw, and keeps no old secret [OWNERSHIP-004.5]', async () => {
    const before = place.records.get(SCOPE);
    await place.records.write({ ...before, capabilities: ['seen.before'] });
    await (await adopted(backend().adopt(SCOPE, dialRecorded, never))).release();
    const after = place.records.get(SCOPE);
    expect(after).toEqual({
      ...before,
      credentialRef: expect.not.stringMatching(before.credentialRef),
      capabilities: [...CAPABILITIES],
    });
    expect(await readdir(place.secretFolder)).toEqual([after.credentialRef]);
  });

  it('goes step by step, proves the server before it shows a credential, and proves the replacement [OWNERSHIP-001.2] [OWNERSHIP-001.10]', async () => {
    await (await adopted(backend().adopt(SCOPE, dial, never))).release();
    expect(tunnel.seen).toEqual([
      'GET /identity',
      'POST /ownership/proof',
      'GET /ownership *',
      'POST /ownership/rotate *',
      'POST /ownership/proof',
      'POST /ownership/confirm *',
    ]);
  });

  it('is not fooled by a process that passes the challenge on to the real server [OWNERSHIP-001.10]', async () => {
    const relayed: Dial = async () => await Promise.resolve({ ...tunnel.dialled, route: 'direct' });
    expect(await backend().adopt(SCOPE, relayed, never)).toMatchObject({
      kind: 'refused',
      reason: 'authentication_failure',
    });
    expect(tunnel.seen).toEqual(['GET /identity', 'POST /ownership/proof']);
    expect(place.records.get(SCOPE).credentialRef).toBe(firstReference);
  });

  it('does not accept the answer to another challenge [OWNERSHIP-001.10]', async () => {
    const stranger = new ControlClient({ endpoint: server.dialled.endpoint, timeoutMs: 60_000 });
    const challenge = 'A'.repeat(43);
    await using peer = await impostor({
      '/api/v1/identity': await stranger.call('getIdentity', {}),
      // Genuine proofs of the real server, for a challenge that this backend did not draw.
      '/api/v1/ownership/proof': await stranger.call('proveOwnership', { challenge, audience: '' }),
    });
    const dialPeer: Dial = async () => await Promise.resolve({ endpoint: peer.endpoint, route: 'tunnel' });
    expect(await backend().adopt(SCOPE, dialPeer, never)).toMatchObject({
      kind: 'refused',
      reason: 'authentication_failure',
    });
    expect(peer.sawCredential).toBe(false);
    // The very same proofs are accepted from a backend that does draw it.
    const random = (byteCount: number): Uint8Array => new Uint8Array(byteCount);
    await backend({ random }).adopt(SCOPE, dialPeer, never);
    expect(peer.asked.at(-1)).toBe('GET /api/v1/ownership');
  });

  it('refuses a server of another installation', async () => {
    const result = await backend({ home: '/another/home' }).adopt(SCOPE, dial, never);
    expect(result).toMatchObject({ kind: 'refused', reason: 'identity_mismatch' });
    expect(tunnel.seen.at(-1)).toBe('GET /ownership *');
  });

  it('refuses a server whose secret is another, without showing it', async () => {
    const other = await place.secrets.write('x'.repeat(43));
    await place.records.write({ ...place.records.get(SCOPE), credentialRef: other });
    expect(await backend().adopt(SCOPE, dial, never)).toMatchObject({
      kind: 'refused',
      reason: 'authentication_failure',
    });
    expect(tunnel.seen).toEqual(['GET /identity', 'POST /ownership/proof']);
  });

  it('has nothing to adopt when the server is shutting down by the time it is to prove the replacement', async () => {
    let challenges = 0;
    const random = (byteCount: number): Uint8Array => {
      challenges += 1;
      if (challenges === 2) tunnel.treat('POST /ownership/proof', 'shutting_down');
      return new Uint8Array(byteCount).fill(challenges);
    };
    expect(await backend({ random }).adopt(SCOPE, dial, never)).toEqual({
      kind: 'absent',
      why: 'shutting_down',
    });
  });

  it.each(['GET /identity', 'POST /ownership/proof', 'GET /ownership', 'POST /ownership/rotate'])(
    'has nothing to adopt when %s says that the server is shutting down',
    async (step) => {
      tunnel.treat(step, 'shutting_down');
      expect(await backend().adopt(SCOPE, dial, never)).toEqual({ kind: 'absent', why: 'shutting_down' });
    },
  );

  it.each([
    ['the server does not rotate', 'POST /ownership/rotate', 'internal'],
    ['the request to rotate gets lost', 'POST /ownership/rotate', 'break_before'],
    ['the replacement gets lost on its way', 'POST /ownership/rotate', 'break_after'],
    ['the server does not confirm', 'POST /ownership/confirm', 'internal'],
    ['the confirmation gets lost', 'POST /ownership/confirm', 'break_after'],
  ] as const)(
    'fails when %s, sends nothing more, and the next attempt adopts [OWNERSHIP-002.5] [OWNERSHIP-002.7]',
    async (_what, step, treatment) => {
      tunnel.treat(step, treatment);
      expect(await backend().adopt(SCOPE, dial, never)).toMatchObject({
        kind: 'refused',
        reason: 'rotation_failure',
      });
      expect(tunnel.seen.at(-1)).toBe(`${step} *`);

      tunnel.reset();
      const owned = await adopted(backend().adopt(SCOPE, dial, never));
      expect((await owned.enumerate(never)).kind).toBe('enumerated');
      await owned.release();
    },
  );

  it('rotates again with the superseded credential after a crash and is given the same rotation [OWNERSHIP-002.10]', async () => {
    const secrets = {
      ...place.secrets,
      write: async () => await Promise.reject(new Error('the disk is full')),
    };
    expect(await backend({ secrets }).adopt(SCOPE, dial, never)).toMatchObject({
      reason: 'rotation_failure',
    });
    expect(tunnel.seen).not.toContain('POST /ownership/confirm *');
    expect(place.records.get(SCOPE).credentialRef).toBe(firstReference);
    expect(await place.secrets.read(firstReference)).toBe(firstCredential);

    await (await adopted(backend().adopt(SCOPE, dial, never))).release();
    expect(place.events.at(-2)).toMatchObject({ name: 'adoption.adopted', rotationId: 2, replayed: true });
  });

  it.each(['before', 'after'] as const)(
    'does not confirm when the record store fails %s it wrote, and the next attempt adopts [OWNERSHIP-002.7]',
    async (when) => {
      place.records.failNextWrite(when);
      expect(await backend().adopt(SCOPE, dial, never)).toMatchObject({ reason: 'rotation_failure' });
      expect(tunnel.seen).not.toContain('POST /ownership/confirm *');
      // Whichever credential the record names, its secret is there.
      await place.secrets.read(place.records.get(SCOPE).credentialRef);
      await (await adopted(backend().adopt(SCOPE, dial, never))).release();
    },
  );

  it('rejects a replacement that the server does not prove it holds, before anything is stored [OWNERSHIP-001.10]', async () => {
    let proofs = 0;
    const random = (byteCount: number): Uint8Array => {
      proofs += 1;
      if (proofs === 2) tunnel.treat('POST /ownership/proof', 'internal');
      return new Uint8Array(byteCount).fill(proofs);
    };
    expect(await backend({ random }).adopt(SCOPE, dial, never)).toMatchObject({ reason: 'rotation_failure' });
    expect(tunnel.seen.at(-1)).toBe('POST /ownership/proof');
    expect(await readdir(place.secretFolder)).toEqual([firstReference]);

    tunnel.reset();
    await (await adopted(backend().adopt(SCOPE, dial, never))).release();
  });

  it('leads to adoption after any two crashes in a row, wherever they were [OWNERSHIP-002.7]', async () => {
    const breakAt = (step: string, treatment: Treatment): Partial<SecretStore> => {
      tunnel.treat(step, treatment);
      return {};
    };
    const failRecord = (when: 'before' | 'after'): Partial<SecretStore> => {
      place.records.failNextWrite(when);
      return {};
    };
    const crashes: ReadonlyArray<() => Partial<SecretStore>> = [
      () => breakAt('POST /ownership/rotate', 'break_before'),
      () => breakAt('POST /ownership/rotate', 'break_after'),
      () => ({ write: async () => await Promise.reject(new Error('no secret')) }),
      () => failRecord('before'),
      () => failRecord('after'),
      () => breakAt('POST /ownership/confirm', 'break_before'),
      () => breakAt('POST /ownership/confirm', 'break_after'),
    ];
    for (const [first, second] of crashes.flatMap((one) => crashes.map((two) => [one, two] as const))) {
      for (const crash of [first, second]) {
        tunnel.reset();
        const secrets = { ...place.secrets, ...crash() };
        expect(await backend({ secrets }).adopt(SCOPE, dial, never)).toMatchObject({ kind: 'refused' });
      }
      tunnel.reset();
      const owned = await adopted(backend().adopt(SCOPE, dial, never));
      expect((await owned.enumerate(never)).kind).toBe('enumerated');
      await owned.release();
    }
  });

  it('tells that an old secret could not be removed, and has adopted all the same', async () => {
    const secrets = {
      ...place.secrets,
      remove: async () => await Promise.reject(new Error('read-only')),
    };
    await (await adopted(backend({ secrets }).adopt(SCOPE, dialRecorded, never))).release();
    expect(place.events).toContainEqual({ name: 'secret.not_removed', scope: SCOPE, detail: 'read-only' });
  });

  it('stops an own server that lacks a capability, after it has proven itself [OWNERSHIP-004.1] [OWNERSHIP-004.2]', async () => {
    const requiredCapabilities = [...CAPABILITIES, 'time-travel.v1'];
    const result = await backend({ requiredCapabilities }).adopt(SCOPE, dial, never);
    expect(result).toEqual({ kind: 'incompatible_stopped', missing: ['time-travel.v1'] });
    expect(tunnel.seen.slice(0, 4)).toEqual([
      'GET /identity',
      'POST /ownership/proof',
      'GET /ownership *',
      'POST /ownership/shutdown *',
    ]);
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
  });

  it('leaves an incompatible server alone after its stop has failed over the whole read budget', async () => {
    tunnel.treat('POST /ownership/shutdown', 'internal');
    const requiredCapabilities = ['time-travel.v1'];
    expect(await backend({ requiredCapabilities }).adopt(SCOPE, dial, never)).toMatchObject({
      kind: 'refused',
      reason: 'capability_incompatibility',
    });
    expect(tunnel.seen.filter((what) => what === 'POST /ownership/shutdown *')).toHaveLength(2);
    expect(processIsAlive(server.program.pid)).toBe(true);
    expect(await place.secrets.read(firstReference)).toBe(firstCredential);
  });

  it('starts nothing when the caller has given up already', async () => {
    await expect(backend().adopt(SCOPE, dial, AbortSignal.abort(new Error('closing')))).rejects.toThrow(
      'closing',
    );
    expect(tunnel.seen).toEqual([]);
  });
});
