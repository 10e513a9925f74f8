import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  EMPTY_RING,
  acceptableCredentials,
  reduceRing,
  standingOf,
  type CredentialRing,
  type RingAnswer,
  type RingEvent,
} from '../../src/ownership/credential-ring.ts';

const PERIOD = 1000;
type Rotate = Extract<RingEvent, { type: 'rotate' }>;

const rotate = (presented: string, fresh: string, now = 0): Rotate => ({
  type: 'rotate',
  presented,
  fresh,
  now,
  unownedPeriodMs: PERIOD,
});
const confirm = (presented: string, rotationId: number, now = 0): RingEvent => ({
  type: 'confirm',
  presented,
  rotationId,
  now,
});

function play(...events: RingEvent[]): { ring: CredentialRing; answer: RingAnswer | undefined } {
  let ring = EMPTY_RING;
  let answer: RingAnswer | undefined;
  for (const event of events) ({ ring, answer } = reduceRing(ring, event));
  return { ring, answer };
}

const BOOT: RingEvent = { type: 'bootstrap', fresh: 'c1' };

describe('the credential ring', () => {
  it('starts with a confirmed first rotation, once', () => {
    expect(play(BOOT).answer).toEqual({
      kind: 'issued',
      held: { rotationId: 1, credential: 'c1' },
      replayed: false,
    });
    expect(play(BOOT).ring.confirmed).toBe(true);
    expect(play(BOOT, { type: 'bootstrap', fresh: 'c2' }).answer).toEqual({
      kind: 'refused',
      code: 'bootstrap_consumed',
    });
  });

  it('replays an unconfirmed rotation, and only the window moves [OWNERSHIP-002.10]', () => {
    const once = play(BOOT, rotate('c1', 'c2'));
    const again = reduceRing(once.ring, rotate('c1', 'c3', 500));
    expect(again.answer).toEqual({
      kind: 'issued',
      held: { rotationId: 2, credential: 'c2' },
      replayed: true,
    });
    expect(again.ring).toEqual({
      ...once.ring,
      superseded: { rotationId: 1, credential: 'c1', acceptableUntil: 500 + PERIOD },
    });
  });

  it('lets only the newest buy a further rotation, which drops what was superseded [OWNERSHIP-002.8]', () => {
    const { ring } = play(BOOT, rotate('c1', 'c2'), rotate('c2', 'c3'));
    expect(acceptableCredentials(ring, 0).map(({ credential }) => credential)).toEqual(['c3', 'c2']);
    expect(standingOf(ring, 'c1', 0)).toBe('unknown');
    expect(reduceRing(ring, rotate('c1', 'c4')).answer).toEqual({
      kind: 'refused',
      code: 'credential_unknown',
    });
  });

  it('takes the superseded one away at the confirmation [OWNERSHIP-002.1]', () => {
    const { ring, answer } = play(BOOT, rotate('c1', 'c2'), confirm('c2', 2));
    expect(answer).toEqual({ kind: 'confirmed', rotationId: 2, effective: true });
    expect(standingOf(ring, 'c1', 0)).toBe('unknown');
  });

  it('accepts a repeated or older confirmation without effect, and refuses one never issued [OWNERSHIP-002.6]', () => {
    const { ring } = play(BOOT, rotate('c1', 'c2'), confirm('c2', 2));
    for (const rotationId of [1, 2]) {
      expect(reduceRing(ring, confirm('c2', rotationId))).toEqual({
        ring,
        answer: { kind: 'confirmed', rotationId, effective: false },
      });
    }
    expect(reduceRing(ring, confirm('c2', 3)).answer).toEqual({ kind: 'refused', code: 'rotation_unknown' });
  });

  it('does not let the superseded one confirm', () => {
    const { ring } = play(BOOT, rotate('c1', 'c2'));
    expect(reduceRing(ring, confirm('c1', 2)).answer).toEqual({
      kind: 'refused',
      code: 'credential_superseded',
    });
  });

  it('forgets the superseded one an unowned period after it last rotated', () => {
    const { ring } = play(BOOT, rotate('c1', 'c2', 100));
    expect(standingOf(ring, 'c1', 100 + PERIOD - 1)).toBe('superseded');
    expect(standingOf(ring, 'c1', 100 + PERIOD)).toBe('unknown');
    expect(acceptableCredentials(ring, 100 + PERIOD)).toHaveLength(1);
    expect(reduceRing(ring, rotate('c1', 'c3', 100 + PERIOD)).answer).toMatchObject({ kind: 'refused' });
  });

  it('keeps its promises for every history [OWNERSHIP-002.6] [OWNERSHIP-002.8]', () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('rotate' as const), by: fc.nat(8), after: fc.nat(400) }),
      fc.record({
        kind: fc.constant('confirm' as const),
        by: fc.nat(8),
        id: fc.integer({ min: 1, max: 9 }),
        after: fc.nat(400),
      }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (history) => {
        let { ring } = play(BOOT);
        let now = 0;
        let highest = 1;
        const issued = ['c1'];
        for (const step of history) {
          now += step.after;
          const presented = issued[step.by % issued.length] ?? '';
          const before = ring;
          const standing = standingOf(before, presented, now);
          const next = reduceRing(
            before,
            step.kind === 'rotate'
              ? rotate(presented, `c${String(issued.length + 1)}`, now)
              : confirm(presented, step.id, now),
          );
          ring = next.ring;
          const { answer } = next;
          const fresh = answer.kind === 'issued' && !answer.replayed ? answer.held : null;
          expect(fresh === null || (fresh.rotationId === highest + 1 && standing === 'newest')).toBe(true);
          expect(answer.kind !== 'refused' || ring === before).toBe(true);
          if (fresh !== null) {
            highest += 1;
            issued.push(fresh.credential);
          }
          expect(issued.filter((one) => standingOf(ring, one, now) === 'newest')).toEqual([issued.at(-1)]);
          expect(issued.filter((one) => standingOf(ring, one, now) !== 'unknown').length).toBeLessThanOrEqual(
            2,
          );
        }
      }),
    );
  });

  it('leaves a credential that both sides hold, wherever the backend crashes [OWNERSHIP-002.7]', () => {
    // The backend: rotate, store, confirm; each step may be the last before a crash, and its answer may be lost.
    const attempt = fc.record({
      stopsAfter: fc.constantFrom('request', 'store', 'confirm', 'never'),
      // Longer than a period without an owner, and the server stops by itself.
      thinksForMs: fc.nat(PERIOD - 1),
    });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 20 }), (attempts) => {
        let { ring } = play(BOOT);
        let stored = 'c1';
        let now = 0;
        for (const [index, { stopsAfter, thinksForMs }] of attempts.entries()) {
          now += thinksForMs;
          const rotated = reduceRing(ring, rotate(stored, `c${String(index + 2)}`, now));
          ring = rotated.ring;
          if (rotated.answer.kind !== 'issued')
            throw new Error(`a rightful backend was locked out: ${rotated.answer.kind}`);
          if (stopsAfter === 'request') continue;
          const { credential, rotationId } = rotated.answer.held;
          stored = credential;
          if (stopsAfter === 'store') continue;
          ring = reduceRing(ring, confirm(stored, rotationId, now)).ring;
        }
        expect(standingOf(ring, stored, now)).not.toBe('unknown');
      }),
    );
  });
});
