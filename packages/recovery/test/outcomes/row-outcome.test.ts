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
      // Instances out of our hands hold the session, and their rows stay, as those of which nothing can be told.
      expect(guard === 'hold').toBe('instanceIds' in outcome);
      const inDoubt = kind === 'adoption_refused' || kind === 'not_enumerated';
      expect(row === 'keep').toBe(guard === 'hold' || inDoubt);
      // What works, and what works unpublished, is nobody's to change.
      expect(session === 'untouched').toBe(kind === 'retracked' || kind === 'not_published');
      expect(describeOutcome(outcome)).toMatch(/^[a-z].*[^.\s]$/);
    },
  );
});
