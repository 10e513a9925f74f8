import type { TurnOutcome } from '@holdfast/control-protocol';
import type { SessionState } from '../sessions/session-state.ts';
import type { OutcomeTurnState } from '../turns/turn-state.ts';

/** What the end of a turn changes. */
export interface OutcomeEffects {
  readonly turn: OutcomeTurnState;
  /** What the session becomes, unless its host stopped it. */
  readonly session: SessionState;
  /** What becomes of a task in progress. */
  readonly task: 'to_review' | 'stays' | 'marked_failed';
}

/** Says what the end of a turn changes; must be pure. */
export type MapOutcome = (outcome: TurnOutcome) => OutcomeEffects;

const EFFECTS: Record<TurnOutcome['kind'], OutcomeEffects> = {
  completed: { turn: 'completed', session: 'waiting_for_input', task: 'to_review' },
  cancelled: { turn: 'cancelled', session: 'waiting_for_input', task: 'stays' },
  refused: { turn: 'failed', session: 'waiting_for_input', task: 'stays' },
  failed: { turn: 'failed', session: 'failed', task: 'marked_failed' },
};

/** The effects that apply unless a host has its own. */
export const outcomeEffects: MapOutcome = (outcome) => EFFECTS[outcome.kind];
