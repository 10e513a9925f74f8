import type { NpmPreference } from '@holdfast/control-protocol';
import { FIRST_PREFERENCE, RETRY_PREFERENCE } from '../../agents/npm-preferences.ts';

/** Whether npm's installed copy of an agent can be removed where the agent runs. */
export type RepairAbility =
  | { readonly kind: 'able'; readonly packageSpec: string }
  /** `why` goes into the error of a start that a repair might have helped. */
  | { readonly kind: 'refused'; readonly why: string };

/** What was done about stale metadata. */
export type RuntimeRepair =
  /** The copy is gone (`removed`), or there was none. */
  | { readonly kind: 'repaired'; readonly removed: boolean }
  /** Another agent runs from the copy, which is left alone; only the metadata is fetched anew. */
  | { readonly kind: 'in_use' }
  /** It was not tried: it is not for this place. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It was tried and failed with this code. */
  | { readonly kind: 'failed'; readonly code: string };

/** A start that came to its end. `failure` is the error that it is reported with. */
export type EndedStart<Started> =
  | { readonly at: 'ready'; readonly started: Started; readonly repair: RuntimeRepair | null }
  | { readonly at: 'failed'; readonly failure: unknown; readonly repair: RuntimeRepair | null };

/**
 * How far a start has come, and with that what is to be done next: start, stop what is left of the child that failed, repair,
 * start once more, or nothing.
 */
export type StartState<Started> =
  | { readonly at: 'starting' }
  | { readonly at: 'stopping'; readonly first: unknown; readonly packageSpec: string }
  | { readonly at: 'repairing'; readonly first: unknown; readonly packageSpec: string }
  | { readonly at: 'starting_again'; readonly repair: RuntimeRepair }
  | EndedStart<Started>;

/** What came of the step that a state asks for. */
export type StartEvent<Started> =
  | { readonly type: 'started'; readonly started: Started }
  /** `stale`: by all the evidence there is, npm's copy of the package's metadata hides the version. */
  | { readonly type: 'start_failed'; readonly failure: unknown; readonly stale: boolean }
  | { readonly type: 'stopped' }
  | { readonly type: 'repaired'; readonly removed: boolean }
  /** A stop or a repair did not come about; the code says why. */
  | { readonly type: 'not_repaired'; readonly code: string };

/** The preference of npm's that goes with each start. */
export const PREFERENCES = {
  starting: FIRST_PREFERENCE,
  starting_again: RETRY_PREFERENCE,
} as const satisfies Record<string, NpmPreference>;

/**
 * The one retry of an agent that npm runs (RUNTIME-001.1): a start that fails of stale metadata is followed by the end of the
 * child, the repair and one more start, and that one by nothing (RUNTIME-001.5). A retry that fails is reported with its own
 * failure; one that there cannot be, with the first. An event that is none of the state's own leaves it as it is.
 */
export function planStart<Started>(
  state: StartState<Started>,
  event: StartEvent<Started>,
  ability: RepairAbility,
): StartState<Started> {
  switch (state.at) {
    case 'starting':
      if (event.type === 'started') return { at: 'ready', started: event.started, repair: null };
      return event.type === 'start_failed' ? afterFirst(event, ability) : state;
    case 'stopping':
      if (event.type === 'stopped') return { ...state, at: 'repairing' };
      return event.type === 'not_repaired' ? notRepaired(state.first, event.code) : state;
    case 'repairing':
      if (event.type === 'repaired') {
        return { at: 'starting_again', repair: { kind: 'repaired', removed: event.removed } };
      }
      return event.type === 'not_repaired' ? notRepaired(state.first, event.code) : state;
    case 'starting_again':
      if (event.type === 'started') return { at: 'ready', started: event.started, repair: state.repair };
      return event.type === 'start_failed'
        ? { at: 'failed', failure: event.failure, repair: state.repair }
        : state;
    case 'ready':
    case 'failed':
      return state;
  }
}

function afterFirst(
  { failure, stale }: { readonly failure: unknown; readonly stale: boolean },
  ability: RepairAbility,
): StartState<never> {
  if (!stale) return { at: 'failed', failure, repair: null };
  return ability.kind === 'able'
    ? { at: 'stopping', first: failure, packageSpec: ability.packageSpec }
    : { at: 'failed', failure, repair: ability };
}

function notRepaired(first: unknown, code: string): StartState<never> {
  // The version can be had without a removal, as long as npm asks the registry again.
  if (code === 'runtime_in_use') return { at: 'starting_again', repair: { kind: 'in_use' } };
  return { at: 'failed', failure: first, repair: { kind: 'failed', code } };
}
