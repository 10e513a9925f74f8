import {
  ControlError,
  invalidRequest,
  type ActiveTurn,
  type TurnOutcome,
  type TurnReport,
} from '@holdfast/control-protocol';
import { JournalStoppedError, type Journal } from '../journal/journal.ts';
import type { Clock } from '../ports/clock.ts';
import { EMPTY_TURN_BOOK, judgePrompt, reduceTurns, type PromptRefusal, type TurnBook } from './turn-book.ts';

/** What a turn does to the agent. */
export interface TurnAgent {
  /** Sends the prompt; nothing is awaited. */
  readonly prompt: (turn: ActiveTurn) => void;
  /** Asks the agent to end the turn. */
  readonly cancel: () => void;
}

/** How long an agent has to answer a cancel before its turn ends without it. */
const CANCEL_ANSWER_LIMIT_MS = 30_000;

/**
 * The turn book of one instance at work: it brings every turn to exactly one outcome, the first that is known, and puts that
 * into the book and the journal in one step.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #nextTurnId: () => string;
  #book: TurnBook = EMPTY_TURN_BOOK;
  #agent: TurnAgent | null = null;
  /** Whether the active turn's prompt has gone out. */
  #dispatched = false;
  #cancelTimer: (() => void) | null = null;
  #ended = Promise.withResolvers<void>();

  constructor(options: {
    readonly clock: Clock;
    readonly journal: Journal;
    readonly nextTurnId: () => string;
  }) {
    this.#clock = options.clock;
    this.#journal = options.journal;
    this.#nextTurnId = options.nextTurnId;
  }

  /** The turn that has not ended, or null. */
  get active(): ActiveTurn | null {
    const { active } = this.#book;
    if (active === null) return null;
    const { turnId, promptGeneration, startedAt } = active;
    return { turnId, promptGeneration, startedAt };
  }

  get lastPromptGeneration(): number {
    return this.#book.lastPromptGeneration;
  }

  /** How many outcomes wait for an acknowledgement. */
  get retained(): number {
    return this.#book.retained.length;
  }

  report(): TurnReport {
    return {
      active: this.active,
      retained: [...this.#book.retained],
      lastPromptGeneration: this.#book.lastPromptGeneration,
    };
  }

  /** Removes a retained outcome; whatever the id, that is fine. */
  acknowledge(turnId: string): void {
    this.#book = reduceTurns(this.#book, { type: 'acknowledged', turnId });
  }

  /** Accepts a prompt or throws a `ControlError`. The agent gets it once `turn_started` is in the journal. */
  accept(promptGeneration: number, agent: TurnAgent): ActiveTurn {
    const refusal = judgePrompt(this.#book, promptGeneration);
    if (refusal !== null) throw promptError(refusal);
    const turn = {
      turnId: this.#nextTurnId(),
      promptGeneration,
      startedAt: this.#clock.wall().toISOString(),
    };
    this.#book = reduceTurns(this.#book, { type: 'accepted', turn });
    this.#agent = agent;
    this.#dispatched = false;
    this.#ended = Promise.withResolvers();
    const { turnId } = turn;
    const started = this.#journal.publish(
      { type: 'turn_started', turnId, promptGeneration },
      {
        onAdmitted: () => {
          this.#dispatch(turn);
        },
      },
    );
    started.catch(ignoreStop);
    return turn;
  }

  /** Asks for the end of a turn; false when it is not active or its outcome is known already. */
  cancel(turnId: string): boolean {
    const { active } = this.#book;
    if (active?.turnId !== turnId || active.outcome !== null) return false;
    if (!this.#dispatched) {
      // The agent never heard of it.
      void this.settle(turnId, { kind: 'cancelled', stopReason: 'cancelled' });
      return true;
    }
    if (this.#cancelTimer === null) {
      this.#agent?.cancel();
      this.#cancelTimer = this.#clock.setTimer(CANCEL_ANSWER_LIMIT_MS, () => {
        void this.settle(turnId, { kind: 'cancelled', stopReason: 'cancel_unanswered' });
      });
    }
    return true;
  }

  /**
   * Ends a turn with an outcome, unless it has one; resolves with whether it was this one, when it is in the journal. A
   * stopped instance keeps nothing.
   */
  async settle(turnId: string, outcome: TurnOutcome): Promise<boolean> {
    const before = this.#book;
    this.#book = reduceTurns(before, { type: 'settled', turnId, outcome });
    const { active } = this.#book;
    if (this.#book === before || active === null) return false;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const { promptGeneration } = active;
    try {
      await this.#journal.publish(
        { type: 'turn_ended', turnId, promptGeneration, outcome },
        {
          onAdmitted: ({ seq, at }) => {
            this.#book = reduceTurns(this.#book, { type: 'ended', turnId, seq, endedAt: at });
            this.#ended.resolve();
          },
        },
      );
    } catch (error) {
      ignoreStop(error);
      this.#ended.resolve();
    }
    return true;
  }

  /** Resolves when the active turn's end is in the journal or can no longer get there; at once when none is active. */
  async untilEnded(): Promise<void> {
    if (this.#book.active !== null) await this.#ended.promise;
  }

  /** The instance stops: no timer of it stays. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #dispatch(turn: ActiveTurn): void {
    const { active } = this.#book;
    if (active?.turnId !== turn.turnId || active.outcome !== null) return;
    this.#dispatched = true;
    this.#agent?.prompt(turn);
  }
}

function promptError(refusal: PromptRefusal): ControlError {
  switch (refusal.code) {
    case 'turn_in_progress':
      return new ControlError(
        'turn_in_progress',
        `Turn ${refusal.turnId} has not ended; cancel it or wait for its turn_ended event.`,
        { turnId: refusal.turnId },
      );
    case 'outcomes_unacknowledged':
      return new ControlError(
        'outcomes_unacknowledged',
        `${String(refusal.retained)} outcomes wait for an acknowledgement; acknowledge them first.`,
      );
    case 'generation_not_new':
      return invalidRequest('request body', [
        {
          path: ['promptGeneration'],
          message:
            `must be above ${String(refusal.last)}, the highest that this instance has accepted; ` +
            `it is ${String(refusal.given)}`,
        },
      ]);
  }
}

function ignoreStop(error: unknown): void {
  if (!(error instanceof JournalStoppedError)) throw error;
}
