import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { hasExpired, renewOwnership, startOwnershipClock } from '../../src/ownership/ownership-clock.ts';
import {
  LONGEST_STEP_MS,
  LOOK_EVERY_MS,
  lookAtTime,
  startRunningClock,
  type RunningTime,
} from '../../src/ports/running-clock.ts';
import { ManualClock } from '../support/manual-clock.ts';

const START: RunningTime = { passedMs: 0, lookedAt: 0 };
const HOUR = 3_600_000;

describe('time in which the process ran', () => {
  it('is the machine’s while the process looks at it, and cuts what is longer than a step', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -1000, max: 4 * LONGEST_STEP_MS }), { maxLength: 50 }),
        (steps) => {
          let time = START;
          let machine = 0;
          let expected = 0;
          for (const step of steps) {
            machine += step;
            const look = lookAtTime(time, machine);
            expected += Math.min(Math.max(step, 0), LONGEST_STEP_MS);
            expect(look.time).toEqual({ passedMs: expected, lookedAt: machine });
            expect(look.stoodStillMs).toBe(Math.max(0, step - LONGEST_STEP_MS));
            time = look.time;
          }
        },
      ),
    );
  });

  it('expires no server whose owner renews at least every third of the period in which it runs [OWNERSHIP-003.2] [OWNERSHIP-003.3]', () => {
    const period = 60_000;
    // What both do in turn: run for a while, with a renewal due in it, and stand still for as long as you like.
    const stretch = fc.record({ runs: fc.nat(period / 3 - LONGEST_STEP_MS), sleeps: fc.nat(30 * HOUR) });
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 40 }), fc.nat(2 * period), (stretches, rest) => {
        const machine = new ManualClock();
        const clock = startRunningClock(machine, () => undefined);
        let ownership = startOwnershipClock(clock.now(), period);
        for (const { runs, sleeps } of stretches) {
          machine.advance(runs);
          machine.sleep(sleeps);
          machine.advance(0);
          expect(hasExpired(ownership, clock.now())).toBe(false);
          ownership = renewOwnership(ownership, clock.now());
        }
        // Without an owner it ends when the period has passed, neither sooner nor later.
        machine.advance(rest);
        expect(hasExpired(ownership, clock.now())).toBe(rest >= period);
        clock.stop();
        expect(machine.pending).toBe(0);
      }),
    );
  });
});

describe('a clock that stands still with its process', () => {
  it('says how long that was, and runs a timer for what was left of it', () => {
    const machine = new ManualClock();
    const stoodStill: number[] = [];
    const clock = startRunningClock(machine, (ms) => stoodStill.push(ms));
    const fired: number[] = [];
    clock.setTimer(10_000, () => fired.push(machine.now()));
    machine.advance(2 * LOOK_EVERY_MS);
    machine.sleep(HOUR);
    machine.advance(0);
    expect(clock.now()).toBe(2 * LOOK_EVERY_MS + LONGEST_STEP_MS);
    expect(stoodStill).toEqual([HOUR - LONGEST_STEP_MS]);
    expect(fired).toEqual([]);
    machine.advance(999);
    expect(fired).toEqual([]);
    machine.advance(1);
    expect(fired).toEqual([machine.now()]);
    expect(clock.wall()).toEqual(machine.wall());
    clock.stop();
  });

  it('notices it as well when something else happens before a timer does', () => {
    const machine = new ManualClock();
    const clock = startRunningClock(machine, () => undefined);
    machine.sleep(HOUR);
    expect(clock.now()).toBe(LONGEST_STEP_MS);
    clock.stop();
  });

  it('runs no timer that was taken back, however often it was put off', () => {
    const machine = new ManualClock();
    const clock = startRunningClock(machine, () => undefined);
    const cancel = clock.setTimer(10_000, () => {
      throw new Error('it was taken back');
    });
    machine.sleep(HOUR);
    machine.advance(0);
    cancel();
    machine.advance(HOUR);
    clock.stop();
    expect(machine.pending).toBe(0);
  });
});
