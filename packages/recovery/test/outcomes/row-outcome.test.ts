import { describe, expect, it } from '@jest/globals';
import { OUTCOME_EFFECTS, describeOutcome } from '../../src/index.ts';
import { OUTCOMES } from '../fixtures/outcomes.ts';

describe('the table of outcomes', () => {
  it('has the effects of every outcome, and one counter for each', () => {
    expect(Object.keys(OUTCOME_EFFECTS).toSorted()).toEqual(OUTCOMES.map(({ kind }) => kind).toSorted());
    const counters = OUTCOMES.map(({ kind }) => OUTCOME_EFFECTS[kind].counter);
    expect(new Set(counters).size).toBe(OUTCOMES.length);
    expect(counters.filter((counter) => !/^holdfast\.recovery\.[a-z_]+$/.test(counter))).toEqual([]);
  });

  it.each(OUTCOMES.map((outcome) => [outcome.kind, outcome] as const))(
    'lets %s follow from what is certain',
    (kind, outcome) => {
      const { guard, row, session } = OUTCOME_EFFECTS[kind];
      // A live row is a session that works, and the other way round.
      expect(row === 'live').toBe(kind === 'retracked');
      if (row === 'live') expect(session).toBe('untouched');
      // Instances out of our hands hold the session, and their rows stay.
      expect(guard === 'hold').toBe('instanceIds' in outcome);
      if (guard === 'hold') expect(row).toBe('keep');
      // What cannot be told is kept; what was found gone, or was stopped, is repaired.
      if (kind === 'adoption_refused' || kind === 'not_enumerated') expect(row).toBe('keep');
      expect(describeOutcome(outcome)).toMatch(/^[a-z].*[^.\s]$/);
    },
  );
});
