import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { classifyLiveness, type Liveness, type LivenessSituation } from '../../src/index.ts';

const PROCESS = ['running', 'ended', 'unknown'] as const;
const PRESENCE = ['present', 'absent', 'unanswered'] as const;

const anySituation: fc.Arbitrary<LivenessSituation> = fc.oneof(
  fc.record({ kind: fc.constantFrom('survival_off', 'no_server'), process: fc.constantFrom(...PROCESS) }),
  fc.record({ kind: fc.constantFrom('own', 'adopted'), presence: fc.constantFrom(...PRESENCE) }),
  fc.record({ kind: fc.constantFrom('recovering', 'stop_in_flight', 'not_adopted') }),
);

describe('the liveness of a row', () => {
  it.each<readonly [string, LivenessSituation, Liveness]>([
    ['survival off, its process runs', { kind: 'survival_off', process: 'running' }, 'alive'],
    ['survival off, its process has ended', { kind: 'survival_off', process: 'ended' }, 'gone'],
    [
      'survival off, its process cannot be looked for',
      { kind: 'survival_off', process: 'unknown' },
      'unknown',
    ],
    ['of this backend, on the server in use', { kind: 'own', presence: 'present' }, 'alive'],
    ['of this backend, not there any more', { kind: 'own', presence: 'absent' }, 'gone'],
    ['of this backend, the server is silent', { kind: 'own', presence: 'unanswered' }, 'unknown'],
    ['inherited, recovery has not finished', { kind: 'recovering' }, 'unknown'],
    ['inherited, its own stop is in flight', { kind: 'stop_in_flight' }, 'unknown'],
    ['inherited, adopted and enumerated with it', { kind: 'adopted', presence: 'present' }, 'alive'],
    ['inherited, adopted and enumerated without it', { kind: 'adopted', presence: 'absent' }, 'gone'],
    ['inherited, adopted, the enumeration fails', { kind: 'adopted', presence: 'unanswered' }, 'unknown'],
    ['inherited, a server answered and was not adopted', { kind: 'not_adopted' }, 'unknown'],
    ['inherited, nothing answers and its process runs', { kind: 'no_server', process: 'running' }, 'alive'],
    ['inherited, nothing answers and its process has ended', { kind: 'no_server', process: 'ended' }, 'gone'],
    ['inherited, nothing answers and nothing is told', { kind: 'no_server', process: 'unknown' }, 'unknown'],
  ])('%s [SURVIVAL-003.6]', (_, situation, liveness) => {
    expect(classifyLiveness(situation)).toBe(liveness);
  });

  it('has an answer for every situation, the same each time, and gone only by evidence [SURVIVAL-003.6]', () => {
    fc.assert(
      fc.property(anySituation, (situation) => {
        const liveness = classifyLiveness(situation);
        expect(['alive', 'gone', 'unknown']).toContain(liveness);
        expect(classifyLiveness({ ...situation })).toBe(liveness);
        const evidence =
          'process' in situation ? situation.process : 'presence' in situation ? situation.presence : null;
        expect(liveness === 'gone').toBe(evidence === 'ended' || evidence === 'absent');
        expect(liveness === 'alive').toBe(evidence === 'running' || evidence === 'present');
      }),
    );
  });
});
