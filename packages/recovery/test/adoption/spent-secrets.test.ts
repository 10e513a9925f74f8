import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Dial, Ownership } from '@holdfast/executor-contract';
import { SCOPE, dialRecorded, installation, never, type Installation } from '../fixtures/backend.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo, type Proxy } from '../fixtures/proxy.ts';
import { serverHere, type ServerHere } from '../fixtures/server-here.ts';

let place: Installation;
let server: ServerHere;
let tunnel: Proxy;
let dial: Dial;
let firstReference: string;

beforeEach(async () => {
  place = await installation('spent');
  server = await serverHere(place.home);
  tunnel = await proxyTo(server.fresh.endpoint);
  dial = async () => await Promise.resolve(tunnel.dialled);
  await newBackend().bootstrap(SCOPE, server.fresh, never);
  firstReference = place.records.get(SCOPE).credentialRef;
});

afterEach(async () => {
  await tunnel[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

function newBackend(): Ownership {
  return place.backend({ clock: manualClock() });
}

async function kept(): Promise<readonly string[]> {
  return (await readdir(place.secretFolder)).toSorted();
}

describe('secrets of failed adoptions', () => {
  it.each(['before', 'after'] as const)(
    'do not pile up while the record cannot be written (it fails %s it wrote)',
    async (when) => {
      const backend = newBackend();
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        place.records.failNextWrite(when);
        expect(await backend.adopt(SCOPE, dial, never)).toMatchObject({ reason: 'rotation_failure' });
        // The one that its record names is there, and at most one beside it.
        expect(await kept()).toContain(place.records.get(SCOPE).credentialRef);
        expect((await kept()).length).toBeLessThanOrEqual(2);
      }
      expect((await backend.adopt(SCOPE, dial, never)).kind).toBe('adopted');
      expect(await kept()).toEqual([place.records.get(SCOPE).credentialRef]);
    },
  );

  it('do not pile up while no confirmation arrives', async () => {
    const backend = newBackend();
    tunnel.treat('POST /ownership/confirm', 'break_after');
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      expect(await backend.adopt(SCOPE, dial, never)).toMatchObject({ reason: 'rotation_failure' });
      expect((await kept()).length).toBeLessThanOrEqual(2);
    }
    tunnel.reset();
    expect((await backend.adopt(SCOPE, dial, never)).kind).toBe('adopted');
    expect(await kept()).toEqual([place.records.get(SCOPE).credentialRef]);
  });

  it('go with the server when that turns out to be gone', async () => {
    const backend = newBackend();
    place.records.failNextWrite('before');
    await backend.adopt(SCOPE, dial, never);
    await server.server.stop();
    expect(await backend.adopt(SCOPE, dialRecorded, never)).toEqual({ kind: 'absent', why: 'no_answer' });
    await using fresh = await serverHere(place.home);
    await backend.bootstrap(SCOPE, fresh.fresh, never);
    expect(await kept()).toEqual([place.records.get(SCOPE).credentialRef]);
  });
});

describe('the secret of a server that may live', () => {
  it.each([
    ['does not answer in time or breaks off', 'break_before'],
    ['says that it is stopping, without having proven itself', 'shutting_down'],
    ['cannot be read', 'internal'],
  ] as const)('is kept when that %s', async (_what, treatment) => {
    tunnel.treat('GET /identity', treatment);
    const backend = newBackend();
    await backend.adopt(SCOPE, dial, never);
    await using fresh = await serverHere(place.home);
    await backend.bootstrap(SCOPE, fresh.fresh, never);
    expect(await kept()).toEqual([firstReference, place.records.get(SCOPE).credentialRef].toSorted());
  });

  it('is forgotten when that has proven itself and says that it is stopping', async () => {
    tunnel.treat('POST /ownership/rotate', 'shutting_down');
    const backend = newBackend();
    expect(await backend.adopt(SCOPE, dial, never)).toEqual({ kind: 'absent', why: 'shutting_down' });
    await using fresh = await serverHere(place.home);
    await backend.bootstrap(SCOPE, fresh.fresh, never);
    expect(await kept()).toEqual([place.records.get(SCOPE).credentialRef]);
  });
});
