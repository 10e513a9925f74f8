import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Identity } from '@holdfast/control-protocol';
import { ControlClient, type InputOf } from '@holdfast/control-protocol/client';
import type { ControlServerRecord, FreshServer, RefusalReason } from '@holdfast/executor-contract';
import {
  SCOPE,
  SHORT_READS,
  dialRecorded,
  installation,
  never,
  type Installation,
} from '../fixtures/backend.ts';
import { MISCONDUCT, hostile, type Conduct, type Hostile } from '../fixtures/hostile.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { serverHere, type ServerHere } from '../fixtures/server-here.ts';
import { survivorRuntime, type SurvivorRuntime } from '../fixtures/survivor-runtime.ts';

let place: Installation;
let servers: ServerHere[];
/** The server that the record is about. It lives, but the record leads to another port. */
let real: FreshServer;
let identity: Identity;
/** What the backend that started it put on record. */
let record: ControlServerRecord;
let credential: string;

beforeEach(async () => {
  place = await installation('hostile');
  servers = [];
  real = await startFresh();
  const first = await place.backend({ clock: manualClock() }).bootstrap(SCOPE, real, never);
  identity = await first.client.call('getIdentity', {});
  record = place.records.get(SCOPE);
  credential = await place.secrets.read(record.credentialRef);
  place.events.length = 0;
});

afterEach(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

async function startFresh(): Promise<FreshServer> {
  const started = await serverHere(place.home);
  servers.push(started);
  return started.fresh;
}

function realServer(as: { readonly credential?: string } = {}): ControlClient {
  return new ControlClient({ endpoint: real.endpoint, timeoutMs: 60_000, ...as });
}

/** A backend starts while this process has the recorded port. */
async function startBackend({ endpoint }: Hostile): Promise<SurvivorRuntime> {
  await place.records.write({ ...place.records.get(SCOPE), endpoint });
  // The servers of these tests are in this process: what is slow for one is slow for all.
  const settings = { ...SHORT_READS, recoveryReadTimeoutMs: 2000 };
  return survivorRuntime(place.backend({ settings }), dialRecorded, { startFresh });
}

/** It asked for nothing but this, showed nothing, started its own server, and kept what belongs to the other one. */
async function expectRefused(
  peer: Hostile,
  { reason, asked }: { readonly reason: RefusalReason; readonly asked: readonly string[] },
): Promise<void> {
  const runtime = await startBackend(peer);
  expect(await runtime.open(never)).toMatchObject([{ server: 'started', refusal: reason }]);
  expect(peer.asked.map(({ what }) => what)).toEqual(asked);
  expect(place.events.flatMap((event) => (event.name === 'adoption.refused' ? [event.reason] : []))).toEqual([
    reason,
  ]);

  const own = place.records.get(SCOPE);
  expect(own).toMatchObject({ serverId: runtime.server.serverId, endpoint: runtime.server.endpoint });
  expect(own.endpoint).not.toBe(peer.endpoint);
  expect(await runtime.server.enumerate(never)).toEqual({ kind: 'enumerated', instances: [] });
  expect(await place.secrets.read(record.credentialRef)).toBe(credential);
  // Nobody else has rotated or stopped the server that the record was about.
  expect(await realServer({ credential }).call('getOwnership', {})).toMatchObject({ rotationId: 1 });
  await runtime.detach();

  // The next backend goes to the own server, and to nobody else.
  const next = survivorRuntime(place.backend(), dialRecorded);
  expect(await next.open(never)).toMatchObject([{ server: 'adopted', refusal: null }]);
  await next.detach();
  expect(peer.asked).toHaveLength(asked.length);
  const secrets = [credential, await place.secrets.read(place.records.get(SCOPE).credentialRef)];
  expect(secrets.filter((secret) => peer.received.includes(secret))).toEqual([]);
  expect(peer.received.toLowerCase()).not.toContain('authorization');
  // A challenge is all that it was told.
  const bodies = peer.asked.filter(({ body }) => body !== '');
  expect(bodies.map(({ what }) => what)).toEqual(asked.filter((what) => what === 'POST /ownership/proof'));
  for (const { body } of bodies) {
    expect(JSON.parse(body)).toEqual({
      challenge: expect.any(String),
      audience: new URL(peer.endpoint).host,
    });
  }
}

const redirecting: Conduct = ({ what, response }) => {
  response.writeHead(307, { location: `${real.endpoint}/api/v1${what.split(' ')[1] ?? ''}` }).end();
};

const CONDUCTS: ReadonlyArray<readonly [string, Conduct]> = [
  ...Object.entries(MISCONDUCT),
  ['redirects to the real server', redirecting],
];
/** What gets no byte back is asked again, over the whole read budget. */
const SILENT: ReadonlySet<string> = new Set(['never answers', 'hangs up']);

describe('a hostile process on the recorded port', () => {
  it.each(CONDUCTS)(
    'that %s when it is asked who it is [OWNERSHIP-001.4] [OWNERSHIP-001.5]',
    async (name, conduct) => {
      await using peer = await hostile(conduct);
      const silent = SILENT.has(name);
      await expectRefused(peer, {
        reason: silent ? 'no_answer' : 'identity_mismatch',
        asked: silent ? ['GET /identity', 'GET /identity'] : ['GET /identity'],
      });
    },
  );

  it.each(CONDUCTS)(
    'that echoes the recorded identity and then %s [OWNERSHIP-001.4] [OWNERSHIP-001.10]',
    async (name, conduct) => {
      await using peer = await hostile(async (asked) => {
        if (asked.what === 'GET /identity') asked.answer(200, identity);
        else await conduct(asked);
      });
      const proof = 'POST /ownership/proof';
      await expectRefused(peer, {
        reason: 'authentication_failure',
        asked: ['GET /identity', ...(SILENT.has(name) ? [proof, proof] : [proof])],
      });
    },
  );

  it.each<readonly [string, Record<string, unknown>]>([
    ['another identity', { serverId: 'somebody-else' }],
    ['no identity', { serverId: undefined }],
    ['an identity that is none', { serverId: ['server-on-record'] }],
    ['no capability set', { capabilities: undefined }],
    ['a capability set that is none', { capabilities: 'all' }],
  ])('that has %s [OWNERSHIP-001.4] [OWNERSHIP-001.5]', async (_name, given) => {
    await using peer = await hostile(({ answer }) => {
      answer(200, { ...identity, ...given });
    });
    await expectRefused(peer, { reason: 'identity_mismatch', asked: ['GET /identity'] });
  });

  /** Proofs that are not those of the credential for this challenge at this address. */
  const FORGERIES: ReadonlyArray<
    readonly [string, (challenge: InputOf<'proveOwnership'>) => Promise<readonly [number, unknown]>]
  > = [
    [
      'makes proofs up',
      async ({ challenge }) =>
        await Promise.resolve([200, { proofs: [{ rotationId: 1, proof: challenge }] }] as const),
    ],
    ['offers no proof', async () => await Promise.resolve([200, { proofs: [] }] as const)],
    [
      'offers empty proofs',
      async () => await Promise.resolve([200, { proofs: [{ rotationId: 1, proof: '' }] }] as const),
    ],
    [
      'offers a proof for every guess',
      async () =>
        await Promise.resolve([
          200,
          { proofs: Array.from({ length: 500 }, (_, n) => ({ rotationId: n, proof: String(n) })) },
        ] as const),
    ],
    [
      'replays a proof of the real server for an older challenge',
      async ({ audience }) => {
        const { host } = new URL(real.endpoint);
        expect(audience).not.toBe(host);
        const older = { challenge: 'A'.repeat(43), audience: host };
        return [200, await realServer().call('proveOwnership', older)] as const;
      },
    ],
    [
      'relays the challenge to the real server for the address of that',
      async ({ challenge }) => {
        const { host } = new URL(real.endpoint);
        return [200, await realServer().call('proveOwnership', { challenge, audience: host })] as const;
      },
    ],
    [
      'relays the challenge to the real server as if through a tunnel',
      async ({ challenge }) =>
        [200, await realServer().call('proveOwnership', { challenge, audience: '' })] as const,
    ],
    [
      'relays challenge and answer of the real server as they are',
      async (input) => {
        const answer = await fetch(`${real.endpoint}/api/v1/ownership/proof`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(input),
        });
        expect(answer.status).toBe(409);
        return [answer.status, await answer.json()] as const;
      },
    ],
  ];

  it.each(FORGERIES)('that %s [OWNERSHIP-001.10]', async (_name, forge) => {
    await using peer = await hostile(async ({ what, body, answer }) => {
      if (what === 'GET /identity') answer(200, identity);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by our own client
      else answer(...(await forge(JSON.parse(body) as InputOf<'proveOwnership'>)));
    });
    await expectRefused(peer, {
      reason: 'authentication_failure',
      asked: ['GET /identity', 'POST /ownership/proof'],
    });
  });

  it.each([
    ['at once', ['GET /identity']],
    ['when it is to prove itself', ['GET /identity', 'POST /ownership/proof']],
  ])(
    'that says %s that it is shutting down: nothing is adopted, and the secret stays',
    async (_name, asked) => {
      await using peer = await hostile(({ what, answer }) => {
        if (what === 'GET /identity' && asked.length > 1) answer(200, identity);
        else answer(503, { error: { code: 'shutting_down', message: 'soon' } });
      });
      const runtime = await startBackend(peer);
      expect(await runtime.open(never)).toMatchObject([{ server: 'started', refusal: null }]);
      expect(peer.asked.map(({ what }) => what)).toEqual(asked);
      expect(await place.secrets.read(record.credentialRef)).toBe(credential);
      expect(peer.received).not.toContain(credential);
      await runtime.detach();
    },
  );
});
