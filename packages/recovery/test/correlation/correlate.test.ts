import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { correlate, type Correlation, type ScopedInstance } from '../../src/index.ts';
import { found, row } from '../fixtures/rows.ts';

const session = fc.constantFrom('s1', 's2', 's3');
const execution = fc.constantFrom('e1', 'e2', 'e3');

const rows = fc.uniqueArray(
  fc
    .record({
      sessionId: session,
      executionId: execution,
      instanceId: fc.constantFrom('i1', 'i2', 'i3', 'i4'),
      sessionMode: fc.constantFrom('managed' as const, 'passthrough' as const, null),
    })
    .map(({ sessionId, ...given }) => row(sessionId, given)),
  { maxLength: 5, selector: ({ executionId, instanceId }) => `${executionId}/${instanceId}` },
);

const instances = fc.uniqueArray(
  fc
    .record({
      sessionId: session,
      executionId: execution,
      instanceId: fc.constantFrom('i1', 'i2', 'i3', 'i4'),
      scope: fc.constantFrom('standalone', 'docker:a'),
    })
    .map(({ sessionId, ...given }) => found(sessionId, given)),
  { maxLength: 6, selector: ({ scope, instance }) => `${scope}/${instance.instanceId}` },
);

function decidedInstances(decisions: readonly Correlation[]): ScopedInstance[] {
  return decisions.flatMap((decision) => (decision.kind === 'leave' ? [] : [decision.instance]));
}

describe('correlate', () => {
  it('re-tracks the one live instance of a session, by session identity, whatever its ids [SURVIVAL-002.1] [SURVIVAL-002.2]', () => {
    const own = row('s1');
    const instance = found('s1', { executionId: 'another', instanceId: 'another' });
    expect(correlate([instance], [own])).toEqual([{ kind: 'retrack', row: own, instance }]);
  });

  it('stops a live instance without a row [SURVIVAL-002.6]', () => {
    const stranger = found('s2');
    expect(correlate([stranger], [])).toEqual([{ kind: 'stop', instance: stranger, why: 'no_row' }]);
  });

  it('leaves a row without a live instance to repair [SURVIVAL-002.7]', () => {
    const own = row('s1');
    expect(correlate([], [own])).toEqual([{ kind: 'leave', row: own, why: 'no_instance' }]);
  });

  it('keeps, of several, the only one that names the execution of the row [SURVIVAL-002.10]', () => {
    const own = row('s1', { executionId: 'e1' });
    const winner = found('s1', { instanceId: 'i2', executionId: 'e1' });
    const loser = found('s1', { instanceId: 'i1', executionId: 'e2' });
    expect(correlate([loser, winner], [own])).toEqual([
      { kind: 'retrack', row: own, instance: winner },
      { kind: 'stop', instance: loser, why: 'duplicate' },
    ]);
  });

  it.each([
    ['none', 'e2', 'e3'],
    ['several', 'e1', 'e1'],
  ])(
    'stops all of several when %s names the execution of the row [SURVIVAL-002.10]',
    (_which, first, second) => {
      const own = row('s1', { executionId: 'e1' });
      const one = found('s1', { instanceId: 'i1', executionId: first });
      const two = found('s1', { instanceId: 'i2', executionId: second });
      expect(correlate([two, one], [own])).toEqual([
        { kind: 'leave', row: own, why: 'ambiguous' },
        { kind: 'stop', instance: one, why: 'ambiguous' },
        { kind: 'stop', instance: two, why: 'ambiguous' },
      ]);
    },
  );

  it('never re-tracks a passthrough session', () => {
    const own = row('s1', { sessionMode: 'passthrough' });
    const instance = found('s1');
    expect(correlate([instance], [own])).toEqual([
      { kind: 'leave', row: own, why: 'no_instance' },
      { kind: 'stop', instance, why: 'passthrough' },
    ]);
  });

  it('puts every row and every instance into exactly one decision', () => {
    fc.assert(
      fc.property(instances, rows, (live, inventory) => {
        const decisions = correlate(live, inventory);
        const decidedRows = decisions.flatMap((decision) => (decision.kind === 'stop' ? [] : [decision.row]));
        expect(decidedRows).toHaveLength(inventory.length);
        expect(new Set(decidedRows)).toEqual(new Set(inventory));
        expect(decidedInstances(decisions)).toHaveLength(live.length);
        expect(new Set(decidedInstances(decisions))).toEqual(new Set(live));
      }),
    );
  });

  it('decides the same whatever the order of its input', () => {
    fc.assert(
      fc.property(
        instances.chain((live) =>
          fc.tuple(fc.constant(live), fc.shuffledSubarray(live, { minLength: live.length })),
        ),
        rows.chain((inventory) =>
          fc.tuple(fc.constant(inventory), fc.shuffledSubarray(inventory, { minLength: inventory.length })),
        ),
        ([live, shuffledLive], [inventory, shuffledInventory]) => {
          expect(correlate(shuffledLive, shuffledInventory)).toEqual(correlate(live, inventory));
        },
      ),
    );
  });

  it('re-tracks at most one instance a session, of that session, and never beside another that lives on', () => {
    fc.assert(
      fc.property(instances, rows, (live, inventory) => {
        const decisions = correlate(live, inventory);
        for (const sessionId of ['s1', 's2', 's3']) {
          const retracked = decisions.filter(
            (decision) => decision.kind === 'retrack' && decision.row.sessionId === sessionId,
          );
          expect(retracked.length).toBeLessThanOrEqual(1);
        }
        for (const decision of decisions) {
          if (decision.kind !== 'retrack') continue;
          expect(decision.instance.instance.sessionId).toBe(decision.row.sessionId);
          expect(decision.row.sessionMode).not.toBe('passthrough');
        }
      }),
    );
  });
});
