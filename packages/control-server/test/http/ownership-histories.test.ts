import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { OwnershipStep } from '../../src/index.ts';
import { LONGEST_STEP_MS } from '../../src/ports/running-clock.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { OwnershipModel, type OwnershipAnswer, type OwnershipCall } from '../support/ownership-model.ts';
import { SETTINGS, endOf, ownedServer, type OwnedServer } from '../support/owned-server.ts';

const PERIOD = SETTINGS.unownedPeriodMs;
const DAY = 24 * 3_600_000;
const MADE_UP = randomBytes(32).toString('base64url');

/** The credentials that a server gave out, in their order, and calls with them. */
class Caller {
  readonly #owned: OwnedServer;
  readonly credentials: string[];

  constructor(owned: OwnedServer) {
    this.#owned = owned;
    this.credentials = [owned.credential];
  }

  async call(call: OwnershipCall): Promise<OwnershipAnswer> {
    const client = this.#owned.stranger.withCredential(this.credentials[call.by] ?? MADE_UP);
    try {
      switch (call.does) {
        case 'rotate': {
          const { rotationId, credential, replayed } = await client.call('rotate', {});
          if (!this.credentials.includes(credential)) this.credentials.push(credential);
          return { rotationId, credential: this.credentials.indexOf(credential), replayed };
        }
        case 'confirm':
          return await client.call('confirm', { rotationId: call.rotationId });
        case 'claim':
          return await client.call('claim', {});
        case 'drive':
          return { rotationId: (await client.call('listInstances', {})).ownership.rotationId };
        case 'look': {
          const { rotationId, confirmed } = await client.call('getOwnership', {});
          return { rotationId, confirmed };
        }
      }
    } catch (error) {
      return codeOf(error);
    }
  }

  /** Which of the credentials do something. */
  async thatMay(does: 'drive' | 'look'): Promise<number[]> {
    const may: number[] = [];
    for (const by of this.credentials.keys()) {
      const answer = await this.call({ does, by });
      if (typeof answer !== 'string') may.push(by);
      else expect(answer).toMatch(/^credential_(unknown|superseded)$/);
    }
    return may;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

const by = fc.integer({ min: -1, max: 6 });
const CALLS = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('rotate' as const), by }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('confirm' as const),
      by,
      rotationId: fc.integer({ min: 1, max: 7 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('claim' as const, 'drive', 'look'), by }) },
);
const TIME = fc.oneof(
  fc.record({ does: fc.constant('wait' as const), ms: fc.nat(PERIOD / 2) }),
  fc.record({ does: fc.constant('sleep' as const), ms: fc.nat(3 * DAY) }),
  // To the last moment of the period, and seldom beyond it.
  fc.record({ does: fc.constant('waitUntilUnowned' as const), lacksMs: fc.constantFrom(1, 1, 1, 0) }),
  fc.record({ does: fc.constant('waitForWindow' as const), lacksMs: fc.constantFrom(1, 0) }),
);

// A failure is made smaller for no longer than this.
const LIMITS = { numRuns: 25, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true };

type Step =
  | OwnershipCall
  | { readonly does: 'wait' | 'sleep'; readonly ms: number }
  | { readonly does: 'waitUntilUnowned' | 'waitForWindow'; readonly lacksMs: number };

describe('random histories of a server', () => {
  it('give what the specification says: one driver, two acceptable credentials at most, an end when unowned [OWNERSHIP-002.6] [OWNERSHIP-002.8] [OWNERSHIP-002.10] [OWNERSHIP-003.8] [OWNERSHIP-003.9]', async () => {
    const history = fc.array(fc.oneof({ weight: 3, arbitrary: CALLS }, { weight: 1, arbitrary: TIME }), {
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const clock = new ManualClock();
        await using owned = await ownedServer({ clock });
        const model = new OwnershipModel(PERIOD);
        const caller = new Caller(owned);
        for (const step of steps) {
          await play(step, { clock, model, caller });
          if (model.isUnowned) break;
          expect(await caller.thatMay('drive')).toEqual([model.newest]);
          expect(await caller.thatMay('look')).toEqual(model.acceptable);
        }
        const ended = model.isUnowned ? await endOf(owned) : { why: 'not ended' };
        expect(ended).toEqual({ why: model.isUnowned ? 'unowned' : 'not ended' });
      }),
      LIMITS,
    );
  });

  it('of crashes and lost answers lock no rightful backend out, and let no second one drive [OWNERSHIP-002.7]', async () => {
    const attempt = fc.record({
      dies: fc.constantFrom('rotating', 'rotated', 'received', 'stored', 'confirming', 'confirmed', 'never'),
      // How much of what is left of the period passes before: all but a moment at most.
      takes: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
      sleeps: fc.oneof(fc.constant(0), fc.nat(3 * DAY)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(attempt, { maxLength: 15 }), async (attempts) => {
        const clock = new ManualClock();
        let diesAt = 'never';
        const onOwnershipStep = (step: OwnershipStep): void => {
          if (step === diesAt) throw new Error('the answer is lost');
        };
        await using owned = await ownedServer({ clock, onOwnershipStep });
        const model = new OwnershipModel(PERIOD);
        const caller = new Caller(owned);
        // What the backend finds when it starts again; the answers that reached it before it died are lost with it.
        let stored = 0;
        for (const { dies, takes, sleeps } of [...attempts, { dies: 'never', takes: 0, sleeps: 0 }]) {
          if (model.untilUnowned > LONGEST_STEP_MS) await sleep(clock, caller, model, sleeps);
          pass(clock, model, Math.floor(takes * (model.untilUnowned - 1)));
          diesAt = dies;
          const rotation = await caller.call({ does: 'rotate', by: stored });
          const expected = dies === 'rotating' ? 'no_answer' : model.call({ does: 'rotate', by: stored });
          expect(rotation).toEqual(dies === 'rotated' ? 'no_answer' : expected);
          // Nobody drives whom the rotation has replaced, whether or not its answer came through.
          const known = caller.credentials.length - 1;
          expect(await caller.thatMay('drive')).toEqual(known === model.newest ? [known] : []);
          if (typeof rotation === 'string' || dies === 'received') continue;
          stored = known;
          if (dies === 'stored') continue;
          const call = { does: 'confirm', by: stored, rotationId: model.issued } as const;
          const confirmation = await caller.call(call);
          const confirmed = dies === 'confirming' ? 'no_answer' : model.call(call);
          expect(confirmation).toEqual(dies === 'confirmed' ? 'no_answer' : confirmed);
        }
        expect(await caller.thatMay('drive')).toEqual([stored]);
        expect(await caller.thatMay('look')).toEqual([stored]);
      }),
      LIMITS,
    );
  });
});

interface World {
  readonly clock: ManualClock;
  readonly model: OwnershipModel;
  readonly caller: Caller;
}

/** One step of a history, of the server and of the model. */
async function play(step: Step, { clock, model, caller }: World): Promise<void> {
  switch (step.does) {
    case 'wait':
      pass(clock, model, step.ms);
      return;
    case 'waitUntilUnowned':
      pass(clock, model, model.untilUnowned - step.lacksMs);
      return;
    case 'waitForWindow':
      pass(clock, model, Math.max(0, model.untilWindowEnds - step.lacksMs));
      return;
    case 'sleep':
      await sleep(clock, caller, model, step.ms);
      return;
    case 'rotate':
    case 'confirm':
    case 'claim':
    case 'drive':
    case 'look':
      await callBoth(step, caller, model);
  }
}

async function callBoth(step: OwnershipCall, caller: Caller, model: OwnershipModel): Promise<void> {
  // The newest, its predecessor and that one's are what matters, so the number counts from the end.
  const call = { ...step, by: step.by < 0 ? -1 : Math.max(-1, model.newest - step.by) };
  expect(await caller.call(call)).toEqual(model.call(call));
}

function pass(clock: ManualClock, model: OwnershipModel, ms: number): void {
  clock.advance(ms);
  model.pass(ms);
}

/** Lets the server stand still, right after it looked at the time. */
async function sleep(clock: ManualClock, caller: Caller, model: OwnershipModel, ms: number): Promise<void> {
  await caller.call({ does: 'look', by: 0 });
  clock.sleep(ms);
  clock.advance(0);
  model.standStill(ms);
}
