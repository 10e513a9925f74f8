import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Identity } from '@holdfast/control-protocol';
import { REFUSAL_REASONS, type RefusalReason } from '@holdfast/executor-contract';
import { SCOPE, installation, never, type Installation } from '../fixtures/backend.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo, type Proxy, type Treatment } from '../fixtures/proxy.ts';
import { serverHere, type ServerHere } from '../fixtures/server-here.ts';

let place: Installation;
let server: ServerHere;
let tunnel: Proxy;
let credentialRef: string;

beforeEach(async () => {
  place = await installation('order');
  server = await serverHere(place.home);
  tunnel = await proxyTo(server.fresh.endpoint);
  const first = await place.backend({ clock: manualClock() }).bootstrap(SCOPE, server.fresh, never);
  await first.release();
  ({ credentialRef } = place.records.get(SCOPE));
});

afterEach(async () => {
  await tunnel[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** How a server comes to have each reason to be refused. */
const FLAWS: Readonly<Record<RefusalReason, Readonly<Record<string, Treatment>>>> = {
  no_answer: { 'GET /identity': 'break_before' },
  identity_mismatch: { 'GET /identity': (answer) => ({ ...Identity.parse(answer), serverId: 'another' }) },
  // The record names a secret that is not there.
  credential_unavailable: {},
  authentication_failure: { 'POST /ownership/proof': () => ({ proofs: [] }) },
  capability_incompatibility: {
    'GET /identity': (answer) => ({ ...Identity.parse(answer), capabilities: ['instances.v1'] }),
    'POST /ownership/shutdown': 'internal',
  },
  rotation_failure: { 'POST /ownership/rotate': 'internal' },
};

/** All requests of an adoption that is refused for this reason, with `*` where the credential is shown. */
const ASKED: Readonly<Record<RefusalReason, readonly string[]>> = {
  no_answer: ['GET /identity', 'GET /identity'],
  identity_mismatch: ['GET /identity'],
  credential_unavailable: ['GET /identity'],
  authentication_failure: ['GET /identity', 'POST /ownership/proof'],
  capability_incompatibility: [
    'GET /identity',
    'POST /ownership/proof',
    'GET /ownership *',
    'POST /ownership/shutdown *',
    'POST /ownership/shutdown *',
    // Whether it has stopped all the same.
    'GET /identity',
  ],
  rotation_failure: [
    'GET /identity',
    'POST /ownership/proof',
    'GET /ownership *',
    'POST /ownership/rotate *',
  ],
};

const COMBINATIONS = Array.from({ length: 2 ** REFUSAL_REASONS.length - 1 }, (_, index) =>
  REFUSAL_REASONS.filter((_reason, bit) => ((index + 1) & (1 << bit)) !== 0),
);

function afflict(flaws: readonly RefusalReason[]): void {
  const treatments = new Map<string, Treatment>();
  for (const [step, treatment] of flaws.flatMap((flaw) => Object.entries(FLAWS[flaw]))) {
    const before = treatments.get(step);
    const both: Treatment =
      typeof before === 'function' && typeof treatment === 'function'
        ? (answer) => treatment(before(answer))
        : (before ?? treatment);
    treatments.set(step, both);
  }
  tunnel.reset();
  for (const [step, treatment] of treatments) tunnel.treat(step, treatment);
}

describe('several reasons to refuse at once', () => {
  it('records exactly one, the first of the order, and asks for nothing beyond it [OWNERSHIP-001.3] [OWNERSHIP-001.6]', async () => {
    expect(COMBINATIONS).toHaveLength(63);
    for (const flaws of COMBINATIONS) {
      afflict(flaws);
      await place.records.write({
        ...place.records.get(SCOPE),
        credentialRef: flaws.includes('credential_unavailable') ? 'f'.repeat(32) : credentialRef,
      });
      place.events.length = 0;
      await place.backend().adopt(SCOPE, async () => await Promise.resolve(tunnel.dialled), never);

      const told = place.events.flatMap((event) => (event.name === 'adoption.refused' ? [event.reason] : []));
      const first = REFUSAL_REASONS.find((reason) => flaws.includes(reason)) ?? 'no_answer';
      expect({ flaws, told, asked: tunnel.seen }).toEqual({ flaws, told: [first], asked: ASKED[first] });
    }
  });

  it('has none to record for a server that has no flaw', async () => {
    const dial = async () => await Promise.resolve(tunnel.dialled);
    const adoption = await place.backend({ clock: manualClock() }).adopt(SCOPE, dial, never);
    expect(adoption.kind).toBe('adopted');
    expect(place.events.map(({ name }) => name)).not.toContain('adoption.refused');
  });
});
