import { describe, expect, it } from '@jest/globals';
import { MAX_RETAINED_OUTCOMES } from '@holdfast/control-protocol';
import * as fc from 'fast-check';
import { EMPTY_TURN_BOOK, judgePrompt, reduceTurns, type TurnEvent } from '../../src/turns/turn-book.ts';

const AT = '2026-01-01T00:00:00.000Z';
const accepted = (turnId: string, promptGeneration: number): TurnEvent => ({
  type: 'accepted',
  turn: { turnId, promptGeneration, startedAt: AT },
});

describe('the turn book', () => {
  it('names why a prompt cannot start', () => {
    const book = reduceTurns(EMPTY_TURN_BOOK, accepted('t1', 5));
    expect(judgePrompt(book, 6)).toEqual({ code: 'turn_in_progress', turnId: 't1' });
    const settled = reduceTurns(book, {
      type: 'settled',
      turnId: 't1',
      outcome: { kind: 'completed', stopReason: 'x' },
    });
    const ended = reduceTurns(settled, { type: 'ended', turnId: 't1', seq: 2, endedAt: AT });
    expect(judgePrompt(ended, 5)).toEqual({ code: 'generation_not_new', given: 5, last: 5 });
    expect(judgePrompt(ended, 6)).toBeNull();
  });

  it('gives every turn exactly one outcome, the first, and keeps it until acknowledged [SURVIVAL-004.6]', () => {
    const step = fc.oneof(
      fc.constant('prompt' as const),
      fc.constant('end' as const),
      fc.record({ settle: fc.nat(3), with: fc.constantFrom('completed', 'cancelled', 'refused', 'failed') }),
      fc.record({ acknowledge: fc.nat(50) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let book = EMPTY_TURN_BOOK;
        let count = 0;
        let first: string | null = null;
        const expected = new Map<string, string>();
        for (const what of steps) {
          if (what === 'prompt') {
            const mayStart = judgePrompt(book, count + 1) === null;
            const next = reduceTurns(book, accepted(`t${String(count)}`, count + 1));
            if ((next !== book) !== mayStart) throw new Error('the book and its judgement disagree');
            if (mayStart) {
              count += 1;
              first = null;
            }
            book = next;
          } else if (what === 'end') {
            const { active } = book;
            if (active !== null) {
              book = reduceTurns(book, { type: 'ended', turnId: active.turnId, seq: 1, endedAt: AT });
              if (first !== null) expected.set(active.turnId, first);
            }
          } else if ('settle' in what) {
            const turnId = `t${String(count - 1 - what.settle)}`;
            if (book.active?.turnId === turnId) first ??= what.with;
            book = reduceTurns(book, {
              type: 'settled',
              turnId,
              outcome: { kind: what.with, stopReason: 'x' },
            });
          } else {
            const turnId = `t${String(what.acknowledge)}`;
            expected.delete(turnId);
            book = reduceTurns(book, { type: 'acknowledged', turnId });
          }
          expect(new Map(book.retained.map(({ turnId, outcome }) => [turnId, outcome.kind]))).toEqual(
            expected,
          );
          expect(book.retained.length).toBeLessThanOrEqual(MAX_RETAINED_OUTCOMES + 1);
        }
      }),
    );
  });
});
