import type { Clock } from '../ports/clock.ts';

/** How long an agent has to answer a cancel before its turn ends without it. */
const CANCEL_ANSWER_LIMIT_MS = 30_000;

/** The time that runs from the first cancel of a turn. */
export class CancelLimit {
  readonly #clock: Clock;
  #cancelTimer: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a cancel has been asked for. */
  get isRunning(): boolean {
    return this.#cancelTimer !== null;
  }

  /** A turn is cancelled: the first time the agent is told, and `onUnanswered` is called when nothing comes of it. */
  start(tellAgent: () => void, onUnanswered: () => void): void {
    if (this.#cancelTimer !== null) return;
    tellAgent();
    this.#cancelTimer = this.#clock.setTimer(CANCEL_ANSWER_LIMIT_MS, onUnanswered);
  }

  /** The turn has ended. */
  clear(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}
