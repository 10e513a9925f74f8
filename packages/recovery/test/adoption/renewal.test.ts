import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ControlError, type ErrorCode } from '@holdfast/control-protocol';
import { until } from '@holdfast/testbeds';
import * as fc from 'fast-check';
import { DrivingClient } from '../../src/adoption/driving-client.ts';
import { renewalPauseMs, startRenewal, type Renewal } from '../../src/adoption/renewal.ts';
import { systemClock } from '../../src/index.ts';
import { manualClock, type ManualClock } from '../fixtures/manual-clock.ts';

const PERIOD_MS = 60_000;
const settings = { recoveryReadTimeoutMs: 60_000, recoveryReadRetries: 0 };

/** A peer that answers claims the way a test says; undefined leaves them unanswered. */
let answer: ErrorCode | 'ok' | undefined;
let claims: number;
let open: Set<ServerResponse>;
let peer: Server;
let clock: ManualClock;
let renewal: Renewal;
let lost: string[];
let failures: string[];

beforeEach(async () => {
  answer = 'ok';
  claims = 0;
  open = new Set();
  lost = [];
  failures = [];
  clock = manualClock();
  peer = createServer((request, response) => {
    request.resume();
    claims += 1;
    if (answer === undefined) {
      open.add(response);
      response.on('close', () => open.delete(response));
    } else if (answer === 'ok') {
      response.end(JSON.stringify({ expiresInMs: PERIOD_MS }));
    } else {
      const error = new ControlError(answer, 'as the test wants it');
      response.writeHead(error.status).end(JSON.stringify(error.toEnvelope()));
    }
  });
  await new Promise<void>((resolve) => {
    peer.listen(0, '127.0.0.1', resolve);
  });
  const address = peer.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const endpoint = `http://127.0.0.1:${String(address.port)}`;
  renewal = startRenewal({
    client: new DrivingClient(
      { endpoint, route: 'direct', timeoutMs: 60_000 },
      {
        onLoss: (loss) => {
          lost.push(loss);
          void renewal.stop();
        },
        onEnd: () => undefined,
      },
    ),
    periodMs: PERIOD_MS,
    clock,
    random: () => new Uint8Array([255]),
    settings,
    onFailure: (detail) => failures.push(detail),
  });
});

afterEach(async () => {
  await renewal.stop();
  peer.closeAllConnections();
  await new Promise<void>((resolve) => {
    peer.close(() => {
      resolve();
    });
  });
});

async function nextScheduled(): Promise<number> {
  return await until(() => clock.nextInMs(), { reason: 'the next renewal', withinMs: 60_000 });
}

describe('startRenewal', () => {
  it('renews at an interval strictly below a third of the period, with jitter [OWNERSHIP-003.2]', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 2 ** 40, noNaN: true }),
        fc.integer({ min: 0, max: 255 }),
        (period, byte) => {
          const pause = renewalPauseMs(period, () => new Uint8Array([byte]));
          expect(pause).toBeGreaterThan(period / 5);
          expect(pause).toBeLessThan(period / 3);
        },
      ),
    );
  });

  it('claims again and again by itself, one attempt at a time', async () => {
    answer = undefined;
    expect(clock.nextInMs()).toBeLessThan(PERIOD_MS / 3);
    clock.advance(PERIOD_MS / 3);
    await until(() => open.size === 1, { reason: 'the first claim', withinMs: 60_000 });
    expect(clock.nextInMs()).toBeUndefined();
    clock.advance(PERIOD_MS);
    expect(claims).toBe(1);

    answer = 'ok';
    for (const response of open) response.end(JSON.stringify({ expiresInMs: PERIOD_MS }));
    // It is overdue by now, so it follows at once.
    await until(() => clock.nextInMs() === 0, { reason: 'the overdue renewal', withinMs: 60_000 });
    clock.advance(0);
    await until(() => claims === 2, { reason: 'the second claim', withinMs: 60_000 });
    expect(await nextScheduled()).toBeLessThan(PERIOD_MS / 3);
    expect(failures).toEqual([]);
  });

  it('claims at once when it wakes, once, and counts the next pause from there', async () => {
    const firstDueIn = clock.nextInMs() ?? 0;
    clock.sleep(10 * PERIOD_MS);
    // What it slept through is not made up for.
    clock.advance(0);
    expect(clock.nextInMs()).toBeUndefined();
    expect(await nextScheduled()).toBe(firstDueIn);
    expect(claims).toBe(1);
    clock.advance(firstDueIn - 1);
    expect(clock.nextInMs()).toBe(1);
    expect(claims).toBe(1);
  });

  it('is woken at once, on the clock of the machine, after its event loop hung over the time', async () => {
    let woken = false;
    systemClock.inBackground(20, () => {
      woken = true;
    });
    const hungUntil = performance.now() + 60;
    while (performance.now() < hungUntil);
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 0);
    });
    expect(woken).toBe(true);
  });

  it('reports a failure and tries again at the next tick', async () => {
    answer = 'internal';
    clock.advance(PERIOD_MS / 3);
    expect(await nextScheduled()).toBeLessThan(PERIOD_MS / 3);
    expect(failures).toEqual(['as the test wants it']);
    answer = 'ok';
    clock.advance(PERIOD_MS / 3);
    await nextScheduled();
    expect(claims).toBe(2);
    expect(failures).toHaveLength(1);
    expect(lost).toEqual([]);
  });

  it.each(['credential_superseded', 'credential_unknown'] as const)(
    'stops for good when whoever hears of %s stops it [OWNERSHIP-002.3]',
    async (code) => {
      answer = code;
      clock.advance(PERIOD_MS / 3);
      await until(() => lost.length > 0, { reason: 'the loss', withinMs: 60_000 });
      await renewal.stop();
      expect(lost).toEqual([code]);
      expect(failures).toEqual([]);
      expect(clock.nextInMs()).toBeUndefined();
    },
  );

  it('gives up an attempt under way when it is stopped', async () => {
    answer = undefined;
    clock.advance(PERIOD_MS / 3);
    await until(() => open.size === 1, { reason: 'the claim', withinMs: 60_000 });
    await renewal.stop();
    expect(clock.nextInMs()).toBeUndefined();
    expect(failures).toEqual([]);
  });
});
