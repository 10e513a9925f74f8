import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { OUTCOME_EFFECTS, planReconciliation, type JudgedRow, type Liveness } from '../../src/index.ts';
import { OUTCOMES } from '../fixtures/outcomes.ts';
import { row } from '../fixtures/rows.ts';

const LIVENESS: readonly Liveness[] = ['alive', 'gone', 'unknown'];

function judgedRow(
  sessionId: string,
  outcome: JudgedRow['outcome'],
  liveness: Liveness,
  executionId = `execution-${sessionId}`,
): JudgedRow {
  return { row: row(sessionId, { executionId }), outcome, liveness: { liveness } };
}

const anyRows = fc
  .array(
    fc.record({
      sessionId: fc.constantFrom('a', 'b', 'c'),
      outcome: fc.constantFrom(...OUTCOMES),
      liveness: fc.constantFrom(...LIVENESS),
    }),
    { maxLength: 8 },
  )
  .map((drawn) =>
    drawn.map(({ sessionId, outcome, liveness }, index) =>
      judgedRow(sessionId, outcome, liveness, `execution-${String(index)}`),
    ),
  );

describe('planReconciliation', () => {
  it('leaves re-tracked sessions alone, and repairs only rows whose process is certainly gone [SURVIVAL-002.7]', () => {
    expect(
      planReconciliation([
        judgedRow('kept', { kind: 'retracked' }, 'alive'),
        judgedRow('unknown', { kind: 'not_enumerated' }, 'unknown'),
        judgedRow('gone', { kind: 'no_instance' }, 'gone'),
        judgedRow('elsewhere', { kind: 'no_instance' }, 'alive'),
        judgedRow('unstoppable', { kind: 'stop_failed', instanceIds: ['i1'] }, 'alive'),
      ]),
    ).toEqual({
      sessions: [
        { sessionId: 'elsewhere', session: 'reconcile', repair: [] },
        { sessionId: 'gone', session: 'reconcile', repair: ['execution-gone'] },
        { sessionId: 'unknown', session: 'reconcile', repair: [] },
        { sessionId: 'unstoppable', session: 'reconcile', repair: [] },
      ],
    });
  });

  it('repairs an older row of a re-tracked session without reconciling the session', () => {
    expect(
      planReconciliation([
        judgedRow('s1', { kind: 'no_instance' }, 'gone', 'older'),
        judgedRow('s1', { kind: 'retracked' }, 'alive'),
      ]),
    ).toEqual({ sessions: [{ sessionId: 's1', session: 'untouched', repair: ['older'] }] });
  });

  it('takes a row whose liveness was not told for a doubt', () => {
    expect(planReconciliation([{ row: row('s1'), outcome: { kind: 'no_instance' } }])).toEqual({
      sessions: [{ sessionId: 's1', session: 'reconcile', repair: [] }],
    });
  });

  it('does nothing for nothing', () => {
    expect(planReconciliation([])).toEqual({ sessions: [] });
  });

  it('repairs nothing that is not gone and touches nothing that is re-tracked, whatever it is given', () => {
    fc.assert(
      fc.property(anyRows, (rows) => {
        const { sessions } = planReconciliation(rows);
        const repaired = new Set(sessions.flatMap(({ repair }) => repair));
        for (const {
          row: { executionId, sessionId },
          outcome,
          liveness,
        } of rows) {
          const effect = OUTCOME_EFFECTS[outcome.kind];
          const becomesRepaired = effect.row === 'repair' && liveness?.liveness === 'gone';
          expect(repaired.has(executionId)).toBe(becomesRepaired);
          if (effect.session !== 'untouched') continue;
          expect(sessions.find((plan) => plan.sessionId === sessionId)?.session ?? 'untouched').toBe(
            'untouched',
          );
        }
      }),
    );
  });

  it('gives one plan a session, the same whatever the order of the rows', () => {
    fc.assert(
      fc.property(anyRows, fc.infiniteStream(fc.nat()), (rows, order) => {
        const keyed = rows.map((given) => [order.next().value ?? 0, given] as const);
        const shuffled = keyed.toSorted(([a], [b]) => a - b).map(([, given]) => given);
        const plan = planReconciliation(rows);
        expect(planReconciliation(shuffled)).toEqual(plan);
        const ids = plan.sessions.map(({ sessionId }) => sessionId);
        expect(ids).toEqual([...new Set(ids)].toSorted());
      }),
    );
  });
});
