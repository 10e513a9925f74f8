import { describe, expect, it } from '@jest/globals';
import { planReconciliation } from '../../src/index.ts';
import { row } from '../fixtures/rows.ts';

describe('planReconciliation', () => {
  it('leaves re-tracked sessions alone, and repairs only rows whose process is certainly gone', () => {
    const [kept, gone, unknown, unstoppable] = [row('kept'), row('gone'), row('unknown'), row('unstoppable')];
    expect(
      planReconciliation([
        { row: kept, outcome: { kind: 'retracked' } },
        { row: unknown, outcome: { kind: 'not_enumerated' } },
        { row: gone, outcome: { kind: 'no_instance' } },
        { row: unstoppable, outcome: { kind: 'stop_failed', instanceIds: ['i1'] } },
      ]),
    ).toEqual({ sessionIds: ['gone', 'unknown', 'unstoppable'], repairs: [gone] });
  });

  it('repairs an older row of a re-tracked session without reconciling the session', () => {
    const [current, older] = [row('s1'), row('s1', { executionId: 'older' })];
    expect(
      planReconciliation([
        { row: older, outcome: { kind: 'no_instance' } },
        { row: current, outcome: { kind: 'retracked' } },
      ]),
    ).toEqual({ sessionIds: [], repairs: [older] });
  });

  it('does nothing for nothing', () => {
    expect(planReconciliation([])).toEqual({ sessionIds: [], repairs: [] });
  });
});
