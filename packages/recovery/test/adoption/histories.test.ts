import { describe, expect, it } from '@jest/globals';
import type { Dial, FreshServer } from '@holdfast/executor-contract';
import * as fc from 'fast-check';
import { ADOPTION_POINTS, type AdoptionPoint } from '../../src/index.ts';
import { SCOPE, dialRecorded, installation, never } from '../fixtures/backend.ts';
import { keptCredentials } from '../fixtures/credentials.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo, type Proxy, type Treatment } from '../fixtures/proxy.ts';
import { serverHere, type ServerHere } from '../fixtures/server-here.ts';
import { survivorRuntime, type SurvivorRuntime } from '../fixtures/survivor-runtime.ts';

/** What happens to an installation: a backend comes and stays until the next one, or something breaks. */
type Happening =
  | { readonly kind: 'backend' }
  /** It dies at the point, if it passes that. */
  | { readonly kind: 'backend dies'; readonly point: AdoptionPoint }
  | { readonly kind: 'answer lost'; readonly step: string; readonly treatment: Treatment }
  /** It stops the server. */
  | { readonly kind: 'backend shuts down' }
  /** The server is gone, without its backend's doing. */
  | { readonly kind: 'server ends' };

// Where the credential changes hands there is most to go wrong.
const [rotating, others] = [/^rotation/, /^(adoption|bootstrap)/].map((group) =>
  fc.constantFrom(...ADOPTION_POINTS.filter((point) => group.test(point))),
);
if (rotating === undefined || others === undefined) throw new Error('there are no points');

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'backend' } as const) },
  {
    weight: 6,
    arbitrary: fc
      .oneof({ weight: 2, arbitrary: rotating }, { weight: 1, arbitrary: others })
      .map((point) => ({ kind: 'backend dies', point }) as const),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('answer lost' as const),
      step: fc.constantFrom('POST /ownership/rotate', 'POST /ownership/confirm', 'GET /ownership'),
      treatment: fc.constantFrom<Treatment>('break_before', 'break_after'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'backend shuts down' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'server ends' } as const) },
);

class Died extends Error {
  override readonly name = 'Died';
}

/** An installation through one history. */
async function live(history: readonly Happening[]): Promise<void> {
  await using place = await installation('history');
  const credentials = keptCredentials();
  const servers = new Map<string, { readonly own: ServerHere; readonly tunnel: Proxy }>();

  const startFresh = async (): Promise<FreshServer> => {
    const own = await serverHere(place.home, { random: credentials.random });
    const tunnel = await proxyTo(own.fresh.endpoint);
    servers.set(own.fresh.endpoint, { own, tunnel });
    return own.fresh;
  };
  const dial: Dial = async (record, signal) =>
    servers.get(record.endpoint)?.tunnel.dialled ?? (await dialRecorded(record, signal));
  const onRecord = async () => {
    const record = await place.records.read(SCOPE);
    return record === null ? undefined : servers.get(record.endpoint);
  };
  const newBackend = (crashPoint: (point: AdoptionPoint) => void = () => undefined): SurvivorRuntime =>
    // Its renewal never comes: it is gone by the next happening.
    survivorRuntime(place.backend({ clock: manualClock(), crashPoint }), dial, { startFresh });
  const isAlive = async (): Promise<boolean> => {
    const { endpoint } = (await onRecord())?.own.fresh ?? {};
    return endpoint !== undefined && (await credentials.driversOf(endpoint)).length > 0;
  };

  /** Gives what a backend that came undisturbed found, and what it should have found. */
  const happen = async (what: Happening): Promise<readonly [found: unknown, expected: unknown]> => {
    switch (what.kind) {
      case 'backend': {
        const expected = (await isAlive()) ? 'adopted' : 'started';
        const runtime = newBackend();
        const [report] = await runtime.open(never);
        const { kind } = await runtime.server.enumerate(never);
        return [
          [report?.server, kind],
          [expected, 'enumerated'],
        ];
      }
      case 'backend dies': {
        const dying = newBackend((passed) => {
          if (passed === what.point) throw new Died(what.point);
        });
        // It may come by another way, and live.
        await dying.open(never).catch((error: unknown) => {
          if (!(error instanceof Died)) throw error;
        });
        return NOTHING;
      }
      case 'answer lost': {
        const tunnel = (await onRecord())?.tunnel;
        tunnel?.treat(what.step, what.treatment);
        await newBackend().open(never);
        tunnel?.reset();
        return NOTHING;
      }
      case 'backend shuts down': {
        const runtime = survivorRuntime(place.backend(), dial, { startFresh });
        await runtime.open(never);
        await runtime.close();
        return NOTHING;
      }
      case 'server ends': {
        await (await onRecord())?.own.server.stop();
        return NOTHING;
      }
    }
  };

  try {
    for (const what of [...history, { kind: 'backend' } as const]) {
      const [found, expected] = await happen(what);
      expect(found).toEqual(expected);
      for (const endpoint of servers.keys()) {
        expect((await credentials.driversOf(endpoint)).length).toBeLessThanOrEqual(1);
      }
    }
    // In the end the one credential that drives is the one on record.
    const { endpoint, credentialRef } = place.records.get(SCOPE);
    expect(await credentials.driversOf(endpoint)).toEqual([await place.secrets.read(credentialRef)]);
  } finally {
    for (const { own, tunnel } of servers.values()) {
      await tunnel[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    }
  }
}

const NOTHING = [null, null] as const;

describe('ownership', () => {
  it('survives every history of crashes and retries: no lock-out, no second driver [OWNERSHIP-002.7]', async () => {
    await fc.assert(fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 8 }), live), {
      numRuns: 50,
    });
  });
});
