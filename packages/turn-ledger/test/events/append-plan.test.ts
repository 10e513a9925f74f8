import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { planAppend } from '../../src/events/append-plan.ts';

it('takes what follows the cursor without a gap, in order, or nothing [BEYOND-02]', () => {
  const numbers = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.nat({ max: 8 }), numbers, (cursor, seqs) => {
      const plan = planAppend(
        cursor,
        seqs.map((seq) => ({ seq })),
      );
      const received = seqs.find((seq, index) => seq > expectedBefore(cursor, seqs.slice(0, index)));
      const next = expectedBefore(
        cursor,
        received === undefined ? seqs : seqs.slice(0, seqs.indexOf(received)),
      );
      const fresh = Array.from({ length: next - cursor - 1 }, (_, index) => ({ seq: cursor + 1 + index }));
      expect(plan).toEqual(
        received === undefined
          ? { kind: 'append', fresh, skipped: seqs.length - fresh.length }
          : { kind: 'gap', expectedSeq: next, receivedSeq: received },
      );
    }),
    { numRuns: 1_000 },
  );
});

/** Which number has to come next once these have come. */
function expectedBefore(cursor: number, seqs: readonly number[]): number {
  return seqs.reduce((next, seq) => (seq === next ? next + 1 : next), cursor + 1);
}
