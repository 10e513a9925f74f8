import type { ActiveTurn, TurnOutcome, TurnReport } from '@holdfast/control-protocol';
import type { Journal } from '../journal/journal.ts';
import { publishUnlessStopped } from '../journal/publish-unless-stopped.ts';
import type { Clock } from '../ports/clock.ts';
import { CancelLimit } from './cancel-limit.ts';
import { OwnTurns } from './own-turns.ts';
import { promptError } from './prompt-error.ts';
import { EMPTY_TURN_BOOK, judgePrompt, reduceTurns, type TurnBook } from './turn-book.ts';

/** What a turn does to the agent. */
export interface TurnAgent {
  /** Sends the prompt; nothing is awaited. */
  readonly prompt: (turn: ActiveTurn) => void;
  /** Asks the agent to end the turn. */
  readonly cancel: () => void;
}

/**
 * The turn book of one instance at work: it brings every turn of a prompt to exactly one outcome, the first that is known, and
 * puts that into the book and the journal in one step. Beside it stand the turns that the agent begins by itself.
 */
export class Turns {
  /** Those without a prompt. */
  readonly own: OwnTurns;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #nextTurnId: () => string;
  #book: TurnBook = EMPTY_TURN_BOOK;
  #agent: TurnAgent | null = null;
  /** Whether the active turn's prompt has gone out. */
  #dispatched = false;
  readonly #cancelLimit: CancelLimit;
  #ended = Promise.withResolvers<void>();

  constructor(options: {
    readonly clock: Clock;
    readonly journal: Journal;
    readonly nextTurnId: () => string;
  }) {
    this.#clock = options.clock;
    this.#journal = options.journal;
    this.#nextTurnId = options.nextTurnId;
    this.#cancelLimit = new CancelLimit(options.clock);
    this.own = new OwnTurns({ ...options, isPrompted: () => this.isPrompted });
  }

  /** The turn that has not ended, with a prompt or without, or null. */
  get active(): ActiveTurn | null {
    const { active } = this.#book;
    if (active === null) return this.own.active;
    const { turnId, promptGeneration, startedAt } = active;
    return { turnId, promptGeneration, startedAt };
  }

  /** Whether the turn of a prompt is active. */
  get isPrompted(): boolean {
    return this.#book.active !== null;
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
    this.own.prompted();
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
    void publishUnlessStopped(this.#journal, { type: 'turn_started', turnId, promptGeneration }, () => {
      this.#dispatch(turn);
    });
    return turn;
  }

  /** Asks for the end of a turn; false when it is not active or its outcome is known already. */
  cancel(turnId: string): boolean {
    const { active } = this.#book;
    if (active?.turnId !== turnId) return this.own.cancel(turnId);
    if (active.outcome !== null) return false;
    if (!this.#dispatched) {
      // The agent never heard of it.
      void this.settle(turnId, { kind: 'cancelled', stopReason: 'cancelled' });
      return true;
    }
    this.#cancelLimit.start(
      () => this.#agent?.cancel(),
      () => {
        void this.settle(turnId, { kind: 'cancelled', stopReason: 'cancel_unanswered' });
      },
    );
    return true;
  }

  /**
   * The agent has answered the prompt of a turn: as {@link Turns.settle}, and what it says after this may be work of its own.
   */
  async answered(turnId: string, outcome: TurnOutcome): Promise<boolean> {
    const isFirst = await this.settle(turnId, outcome);
    this.own.watch.promptAnswered(turnId);
    return isFirst;
  }

  /** The agent has ended, and with it what it was at. */
  agentEnded(outcome: TurnOutcome, isExpected: boolean): void {
    const { active } = this.#book;
    if (active !== null) void this.settle(active.turnId, outcome);
    void this.own.end(isExpected ? { kind: 'cancelled', stopReason: 'agent_stopped' } : outcome);
    this.own.watch.agentGone();
  }

  /**
   * Ends the turn of a prompt with an outcome, unless it has one; resolves with whether it was this one, when it is in the
   * journal. A stopped instance keeps nothing.
   */
  async settle(turnId: string, outcome: TurnOutcome): Promise<boolean> {
    const before = this.#book;
    this.#book = reduceTurns(before, { type: 'settled', turnId, outcome });
    const { active } = this.#book;
    if (this.#book === before || active === null) return false;
    this.#cancelLimit.clear();
    const ended = this.#ended;
    const { promptGeneration } = active;
    await publishUnlessStopped(
      this.#journal,
      { type: 'turn_ended', turnId, promptGeneration, outcome },
      ({ seq, at }) => {
        this.#book = reduceTurns(this.#book, { type: 'ended', turnId, seq, endedAt: at });
      },
    );
    ended.resolve();
    return true;
  }

  /** Resolves when the end of a prompt's turn is in the journal or can no longer get there; at once when none is active. */
  async untilEnded(): Promise<void> {
    if (this.#book.active !== null) await this.#ended.promise;
  }

  /** The instance stops: no timer of it stays. */
  stop(): void {
    this.#cancelLimit.clear();
    this.own.stop();
  }

  #dispatch(turn: ActiveTurn): void {
    const { active } = this.#book;
    if (active?.turnId !== turn.turnId || active.outcome !== null) return;
    this.#dispatched = true;
    this.own.watch.promptSent(turn.turnId);
    this.#agent?.prompt(turn);
  }
}
