import {
  MAX_RETAINED_OUTCOMES,
  type ActiveTurn,
  type RetainedOutcome,
  type TurnOutcome,
} from '@holdfast/control-protocol';

/** The turns of one instance: at most one is active, ended ones are kept until acknowledged by id. */
export interface TurnBook {
  readonly active: (ActiveTurn & { readonly outcome: TurnOutcome | null }) | null;
  readonly retained: readonly RetainedOutcome[];
  readonly lastPromptGeneration: number;
}

/** What happens to a turn. `settled` decides its outcome, `ended` is its event's place in the journal. */
export type TurnEvent =
  | { readonly type: 'accepted'; readonly turn: ActiveTurn }
  | { readonly type: 'settled'; readonly turnId: string; readonly outcome: TurnOutcome }
  | { readonly type: 'ended'; readonly turnId: string; readonly seq: number; readonly endedAt: string }
  | { readonly type: 'acknowledged'; readonly turnId: string };

/** Why a prompt cannot be accepted now, or null. */
export type PromptRefusal =
  | { readonly code: 'turn_in_progress'; readonly turnId: string }
  | { readonly code: 'outcomes_unacknowledged'; readonly retained: number }
  | { readonly code: 'generation_not_new'; readonly given: number; readonly last: number };

export const EMPTY_TURN_BOOK: TurnBook = { active: null, retained: [], lastPromptGeneration: 0 };

/** Whether a prompt of this generation may start a turn. */
export function judgePrompt(book: TurnBook, promptGeneration: number): PromptRefusal | null {
  if (book.active !== null) return { code: 'turn_in_progress', turnId: book.active.turnId };
  if (book.retained.length >= MAX_RETAINED_OUTCOMES) {
    return { code: 'outcomes_unacknowledged', retained: book.retained.length };
  }
  // A generation that was seen before is a repeated request: its prompt must not run twice.
  if (promptGeneration <= book.lastPromptGeneration) {
    return { code: 'generation_not_new', given: promptGeneration, last: book.lastPromptGeneration };
  }
  return null;
}

/** The book after an event. An event that does not fit, such as a second outcome, changes nothing: it is returned as it is. */
export function reduceTurns(book: TurnBook, event: TurnEvent): TurnBook {
  const { active } = book;
  switch (event.type) {
    case 'accepted':
      if (judgePrompt(book, event.turn.promptGeneration) !== null) return book;
      return {
        ...book,
        active: { ...event.turn, outcome: null },
        lastPromptGeneration: event.turn.promptGeneration,
      };
    case 'settled':
      if (active?.turnId !== event.turnId || active.outcome !== null) return book;
      return { ...book, active: { ...active, outcome: event.outcome } };
    case 'ended': {
      if (active?.turnId !== event.turnId || active.outcome === null) return book;
      const { turnId, promptGeneration, outcome } = active;
      const ended = { turnId, promptGeneration, outcome, endedAt: event.endedAt, seq: event.seq };
      return { ...book, active: null, retained: [...book.retained, ended] };
    }
    case 'acknowledged': {
      const retained = book.retained.filter((outcome) => outcome.turnId !== event.turnId);
      return retained.length === book.retained.length ? book : { ...book, retained };
    }
  }
}
