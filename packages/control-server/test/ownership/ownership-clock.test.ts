import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  hasExpired,
  remainingMs,
  renewOwnership,
  startOwnershipClock,
} from '../../src/ownership/ownership-clock.ts';
import { OPEN_LATCH, closeLatch } from '../../src/ownership/shutdown-latch.ts';

describe('the ownership clock', () => {
  it('expires at the period, not before', () => {
    const clock = startOwnershipClock(1000, 60_000);
    expect(hasExpired(clock, 60_999)).toBe(false);
    expect(hasExpired(clock, 61_000)).toBe(true);
    expect(remainingMs(clock, 60_999)).toBe(1);
  });

  it('expires exactly when no renewal came for a period', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1500), { maxLength: 20 }), fc.nat(3000), (gaps, rest) => {
        let clock = startOwnershipClock(0, 1000);
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          clock = renewOwnership(clock, now);
        }
        expect(hasExpired(clock, now + rest)).toBe(rest >= 1000);
        expect(remainingMs(clock, now + rest)).toBe(Math.max(0, 1000 - rest));
      }),
    );
  });
});

describe('the shutdown latch', () => {
  it('is decided once; the first cause stays', () => {
    const first = closeLatch(OPEN_LATCH, 'unowned', 3);
    expect(closeLatch(first, 'shutdown', 2)).toBe(first);
    expect(first).toEqual({ state: 'closing', cause: 'unowned', instances: 3 });
  });
});
