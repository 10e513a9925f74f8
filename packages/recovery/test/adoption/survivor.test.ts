import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES, Identity, OwnershipDetails } from '@holdfast/control-protocol';
import type { Dial, FreshServer } from '@holdfast/executor-contract';
import { freePort } from '@holdfast/testbeds';
import { SCOPE, dialRecorded, installation, never, type Installation } from '../fixtures/backend.ts';
import { runControlServer, type RunningServer } from '../fixtures/control-server.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo, type Proxy, type Treatment } from '../fixtures/proxy.ts';
import { serverHere, type ServerHere } from '../fixtures/server-here.ts';
import { survivorRuntime } from '../fixtures/survivor-runtime.ts';

let place: Installation;

beforeEach(async () => {
  place = await installation('survivor');
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

describe('a survivor in a process of its own, with the capability switched off', () => {
  let server: RunningServer;

  beforeEach(async () => {
    server = await runControlServer(place.home);
    await (await place.backend().bootstrap(SCOPE, server.fresh, never)).release();
    place.events.length = 0;
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  it('is stopped when it is own [SURVIVAL-005.5]', async () => {
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'stopped' });
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
    expect(place.events).toEqual([{ name: 'survivor.stopped', scope: SCOPE, serverId: server.serverId }]);
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'none' });
  });

  it('is stopped when it is own, whatever it can do [SURVIVAL-005.5]', async () => {
    const newer = place.backend({ requiredCapabilities: [...CAPABILITIES, 'time-travel.v1'] });
    expect(await newer.endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'stopped' });
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
  });
});

describe('a survivor that is not provably own, with the capability switched off', () => {
  let servers: ServerHere[];
  let tunnel: Proxy;
  let dial: Dial;
  let credential: string;

  beforeEach(async () => {
    servers = [];
    const fresh = await startFresh();
    tunnel = await proxyTo(fresh.endpoint);
    dial = async (record, signal) =>
      record.endpoint === fresh.endpoint ? tunnel.dialled : await dialRecorded(record, signal);
    await (await place.backend({ clock: manualClock() }).bootstrap(SCOPE, fresh, never)).release();
    credential = await place.secrets.read(place.records.get(SCOPE).credentialRef);
    place.events.length = 0;
  });

  afterEach(async () => {
    await tunnel[Symbol.asyncDispose]();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  async function startFresh(): Promise<FreshServer> {
    const started = await serverHere(place.home);
    servers.push(started);
    return started.fresh;
  }

  const asAnother: Treatment = (answer) => ({ ...Identity.parse(answer), serverId: 'somebody-else' });
  const elsewhere: Treatment = (answer) => ({
    ...OwnershipDetails.parse(answer),
    installation: { home: '/another/home' },
  });

  it.each<readonly [string, string, string, Treatment]>([
    ['identity_mismatch', 'is another server', 'GET /identity', asAnother],
    ['identity_mismatch', 'is of another installation', 'GET /ownership', elsewhere],
    ['authentication_failure', 'does not prove itself', 'POST /ownership/proof', () => ({ proofs: [] })],
    ['authentication_failure', 'does not take the credential', 'GET /ownership', 'credential_unknown'],
  ])('is left alone: %s, because it %s [SURVIVAL-005.5]', async (reason, _why, step, treatment) => {
    tunnel.treat(step, treatment);
    await expectLeftAlone(reason);
    expect(tunnel.seen.at(-1)?.replace(' *', '')).toBe(step);
  });

  it('is left alone: credential_unavailable, because its secret is not there [SURVIVAL-005.5]', async () => {
    await place.records.write({ ...place.records.get(SCOPE), credentialRef: 'f'.repeat(32) });
    await expectLeftAlone('credential_unavailable');
    expect(tunnel.seen).toEqual(['GET /identity']);
  });

  /** Nothing was asked of it beyond the reason; an own server, bound to its backend, took its place on record. */
  async function expectLeftAlone(reason: string): Promise<void> {
    const { serverId } = place.records.get(SCOPE);
    const runtime = survivorRuntime(place.backend(), dial, { startFresh, survival: false });
    expect(await runtime.open(never)).toMatchObject([{ server: 'started', refusal: reason }]);
    expect(place.events[0]).toEqual({
      name: 'survivor.left_alone',
      scope: SCOPE,
      serverId,
      reason,
      detail: expect.any(String),
    });
    expect(tunnel.seen).not.toContain('POST /ownership/shutdown *');
    expect(place.records.get(SCOPE).serverId).toBe(runtime.server.serverId);
    expect(await stillDrives()).toBe(true);
    await runtime.detach();
  }

  /** Whether the survivor works as before. */
  async function stillDrives(): Promise<boolean> {
    const [survivor] = servers;
    if (survivor === undefined) throw new Error('there is no survivor');
    const { endpoint } = survivor.fresh;
    const answer = await fetch(`${endpoint}/api/v1/instances`, {
      headers: { authorization: `Bearer ${credential}` },
    });
    return answer.status === 200;
  }

  it.each(['internal', 'break_before'] as const)(
    'is told of when it is own and cannot be stopped (%s) [SURVIVAL-005.5]',
    async (treatment) => {
      tunnel.treat('POST /ownership/shutdown', treatment);
      const result = await place.backend().endSurvivor(SCOPE, dial, never);
      expect(result).toEqual({ kind: 'not_stopped', detail: expect.any(String) });
      expect(tunnel.seen.filter((what) => what === 'POST /ownership/shutdown *')).toHaveLength(2);
      const { serverId } = place.records.get(SCOPE);
      expect(place.events).toEqual([
        { name: 'survivor.not_stopped', scope: SCOPE, serverId, ...detailOf(result) },
      ]);
      expect(await stillDrives()).toBe(true);
    },
  );

  it('is nothing to end without a record, where nobody answers, and when it is stopping already', async () => {
    tunnel.treat('POST /ownership/proof', 'shutting_down');
    expect(await place.backend().endSurvivor(SCOPE, dial, never)).toEqual({ kind: 'none' });
    const nobody: Dial = async () =>
      await Promise.resolve({ endpoint: `http://127.0.0.1:${String(await freePort())}`, route: 'direct' });
    expect(await place.backend().endSurvivor(SCOPE, nobody, never)).toEqual({ kind: 'none' });
    expect(await place.backend().endSurvivor('ssh:nobody', dial, never)).toEqual({ kind: 'none' });
    expect(place.events).toEqual([]);
  });
});

function detailOf(result: object): { readonly detail?: unknown } {
  return 'detail' in result ? { detail: result.detail } : {};
}
