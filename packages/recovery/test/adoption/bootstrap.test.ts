import { readdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES } from '@holdfast/control-protocol';
import type { FreshServer } from '@holdfast/executor-contract';
import { SCOPE, dialRecorded, installation, never, type Installation } from '../fixtures/backend.ts';
import { runControlServer, type RunningServer } from '../fixtures/control-server.ts';

let place: Installation;
let server: RunningServer;

beforeEach(async () => {
  place = await installation('bootstrap');
  server = await runControlServer(place.home);
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

describe('bootstrap', () => {
  it('writes one durable record for the scope, and keeps the credential out of it [OWNERSHIP-001.1]', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const record = place.records.get(SCOPE);
    expect(record).toEqual({
      scope: SCOPE,
      endpoint: server.dialled.endpoint,
      serverId: server.serverId,
      credentialRef: expect.any(String),
      capabilities: [...CAPABILITIES],
      logFile: expect.stringContaining(place.home),
      startedAt: expect.any(String),
    });
    const credential = await place.secrets.read(record.credentialRef);
    expect(JSON.stringify(record)).not.toContain(credential);
    expect(JSON.stringify(place.events)).not.toContain(credential);
    expect(await owned.enumerate(never)).toEqual({ kind: 'enumerated', instances: [] });
    await owned.release();
  });

  it('is good for one backend', async () => {
    await (await place.backend().bootstrap(SCOPE, server.fresh, never)).release();
    const record = place.records.get(SCOPE);
    await expect(place.backend().bootstrap(SCOPE, server.fresh, never)).rejects.toMatchObject({
      code: 'bootstrap_failed',
      scope: SCOPE,
    });
    expect(place.records.get(SCOPE)).toEqual(record);
  });

  it('does not tell the nonce when it is rejected', async () => {
    const fresh: FreshServer = { ...server.fresh, nonce: 'a-wrong-nonce' };
    const error: unknown = await place
      .backend()
      .bootstrap(SCOPE, fresh, never)
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'bootstrap_failed' });
    expect(String(error)).not.toContain('a-wrong-nonce');
  });

  it('refuses a server of another installation, and one without a capability that is needed', async () => {
    await expect(
      place.backend({ requiredCapabilities: ['time-travel.v1'] }).bootstrap(SCOPE, server.fresh, never),
    ).rejects.toThrow('time-travel.v1');
    await expect(
      place.backend({ home: '/another/home' }).bootstrap(SCOPE, server.fresh, never),
    ).rejects.toThrow('another installation');
    expect(await place.records.read(SCOPE)).toBeNull();
  });

  it('keeps no secret when the record cannot be written', async () => {
    place.records.failNextWrite('before');
    await expect(place.backend().bootstrap(SCOPE, server.fresh, never)).rejects.toThrow('out of order');
    expect(await readdir(place.secretFolder)).toEqual([]);
  });

  it('forgets the secret of a server that was found gone, and keeps it after a refusal', async () => {
    const backend = place.backend();
    await (await backend.bootstrap(SCOPE, server.fresh, never)).shutdown();
    const gone = place.records.get(SCOPE).credentialRef;

    const next = place.backend();
    expect(await next.adopt(SCOPE, dialRecorded, never)).toEqual({ kind: 'absent', why: 'no_answer' });
    await using second = await runControlServer(place.home);
    await (await next.bootstrap(SCOPE, second.fresh, never)).release();
    const refused = place.records.get(SCOPE).credentialRef;
    expect(await readdir(place.secretFolder)).toEqual([refused]);
    expect(refused).not.toBe(gone);

    const stranger = place.backend({ home: '/another/home' });
    expect(await stranger.adopt(SCOPE, dialRecorded, never)).toMatchObject({ kind: 'refused' });
    await using third = await runControlServer(place.home);
    await (await place.backend().bootstrap(SCOPE, third.fresh, never)).release();
    expect((await readdir(place.secretFolder)).toSorted()).toEqual(
      [refused, place.records.get(SCOPE).credentialRef].toSorted(),
    );
  });
});
