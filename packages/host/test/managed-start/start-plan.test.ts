import { describe, expect, it } from '@jest/globals';
import {
  planStart,
  type RepairAbility,
  type StartEvent,
  type StartState,
} from '../../src/sessions/managed-start/start-plan.ts';

type Event = StartEvent<string>;
type State = StartState<string>;

const ABLE: RepairAbility = { kind: 'able', packageSpec: 'acme@1.0.0' };
const REFUSED: RepairAbility = { kind: 'refused', why: 'not here' };
const STALE: Event = { type: 'start_failed', failure: 'stale', stale: true };
const OTHER: Event = { type: 'start_failed', failure: 'other', stale: false };
const STARTED: Event = { type: 'started', started: 'agent' };
const STOPPED: Event = { type: 'stopped' };
const REPAIRED: Event = { type: 'repaired', removed: true };
const IN_USE: Event = { type: 'not_repaired', code: 'runtime_in_use' };
const UNSAFE: Event = { type: 'not_repaired', code: 'unsafe_cache_root' };
const EVENTS = [STALE, OTHER, STARTED, STOPPED, REPAIRED, IN_USE, UNSAFE];

/** The states that a history leads through, the first one included. */
function statesOf(history: readonly Event[], ability: RepairAbility = ABLE): State[] {
  const states: State[] = [{ at: 'starting' }];
  for (const event of history) states.push(planStart(states.at(-1) ?? { at: 'starting' }, event, ability));
  return states;
}

const lastOf = (history: readonly Event[], ability: RepairAbility = ABLE): State | undefined =>
  statesOf(history, ability).at(-1);

describe('a start', () => {
  it('that works is ready', () => {
    expect(lastOf([STARTED])).toEqual({ at: 'ready', started: 'agent', repair: null });
  });

  it('that fails of anything but stale metadata is reported', () => {
    expect(lastOf([OTHER])).toEqual({ at: 'failed', failure: 'other', repair: null });
  });

  it('that fails of stale metadata is repaired, and ready', () => {
    const repair = { kind: 'repaired', removed: true };
    expect(statesOf([STALE, STOPPED, REPAIRED, STARTED])).toEqual([
      { at: 'starting' },
      { at: 'stopping', first: 'stale', packageSpec: 'acme@1.0.0' },
      { at: 'repairing', first: 'stale', packageSpec: 'acme@1.0.0' },
      { at: 'starting_again', repair },
      { at: 'ready', started: 'agent', repair },
    ]);
  });

  it('is tried again without a removal where another agent runs from the copy', () => {
    expect(lastOf([STALE, STOPPED, IN_USE])).toEqual({ at: 'starting_again', repair: { kind: 'in_use' } });
  });

  it.each<[string, Event[], RepairAbility, State]>([
    [
      'its retry fails: with the failure of the retry',
      [STALE, STOPPED, REPAIRED, OTHER],
      ABLE,
      { at: 'failed', failure: 'other', repair: { kind: 'repaired', removed: true } },
    ],
    [
      'its retry finds stale metadata again',
      [STALE, STOPPED, REPAIRED, STALE],
      ABLE,
      { at: 'failed', failure: 'stale', repair: { kind: 'repaired', removed: true } },
    ],
    [
      'the repair fails: with the first failure',
      [STALE, STOPPED, UNSAFE],
      ABLE,
      { at: 'failed', failure: 'stale', repair: { kind: 'failed', code: 'unsafe_cache_root' } },
    ],
    [
      'the failed child cannot be stopped',
      [STALE, UNSAFE],
      ABLE,
      { at: 'failed', failure: 'stale', repair: { kind: 'failed', code: 'unsafe_cache_root' } },
    ],
    [
      'there is no repair in that place',
      [STALE],
      REFUSED,
      { at: 'failed', failure: 'stale', repair: REFUSED },
    ],
  ])('is reported once when %s', (_, history, ability, end) => {
    expect(lastOf(history, ability)).toEqual(end);
  });

  it('is made at most twice and repaired at most once, whatever comes in whatever order', () => {
    const odd = [...historiesOf(6)].filter((history) => !isInOrder(statesOf(history)));
    expect(odd).toEqual([]);
    const repaired = [...historiesOf(3)].filter((history) =>
      statesOf(history, REFUSED).some(({ at }) => at === 'stopping' || at === 'repairing'),
    );
    expect(repaired).toEqual([]);
  });
});

/** Whether every state is entered once at most, and a failure other than the first is told after a retry only. */
function isInOrder(states: readonly State[]): boolean {
  const entered = states.filter((state, index) => state.at !== states[index - 1]?.at).map(({ at }) => at);
  const last = states.at(-1);
  const toldSecond = last?.at === 'failed' && last.failure === 'other' && last.repair !== null;
  return new Set(entered).size === entered.length && (!toldSecond || entered.includes('starting_again'));
}

/** Every sequence of that many events. */
function* historiesOf(length: number): Generator<readonly Event[]> {
  if (length === 0) yield [];
  else for (const rest of historiesOf(length - 1)) for (const event of EVENTS) yield [...rest, event];
}
