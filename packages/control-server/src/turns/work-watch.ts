import type { Clock } from '../ports/clock.ts';

/** Silence of this length, after a prompt or after the opening of a session, parts what came before from what comes. */
export const SETTLING_MS = 500;

/** An agent that goes on without a silence works on its own after so many updates all the same. */
export const MAX_STRAGGLERS = 16;

/** How many messages and tool calls are remembered, to know the late updates of one. */
export const REMEMBERED_PIECES = 1000;

/**
 * Tells an agent's own work from what is left of a prompt. Late updates of a prompt are those of its messages and tool calls,
 * all that come before its answer, and what follows that answer without a silence.
 */
export class WorkWatch {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #pieces = new Set<string>();
  #isAgentReady = false;
  /** The turn whose prompt the agent got last, while it has not answered. */
  #unanswered: string | null = null;
  /** Of the time since the last answer that in which the agent was listened to and said nothing. */
  #silentMs = 0;
  #listeningSince = 0;
  #stragglers = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** An agent has opened its session. */
  agentReady(): void {
    this.#isAgentReady = true;
    this.settle();
  }

  /** The agent has ended; none of what it was at is left. */
  agentGone(): void {
    this.#isAgentReady = false;
    this.#unanswered = null;
    this.#pieces.clear();
  }

  promptSent(turnId: string): void {
    this.#unanswered = turnId;
  }

  /** A prompt has been answered, in wire order. The answer to an earlier one than the last tells nothing of the last. */
  promptAnswered(turnId: string): void {
    if (this.#unanswered !== turnId) return;
    this.#unanswered = null;
    this.settle();
  }

  /** The agent works on this; whether that belongs to a turn is known. */
  belongs(piece: string | null): void {
    if (piece === null) return;
    this.#pieces.delete(piece);
    this.#pieces.add(piece);
    const [oldest] = this.#pieces;
    if (this.#pieces.size > REMEMBERED_PIECES && oldest !== undefined) this.#pieces.delete(oldest);
  }

  /** The agent works, and no turn is active: whether that is the beginning of work of its own. */
  begins(piece: string | null): boolean {
    if (!this.#isAgentReady || this.#unanswered !== null) return false;
    if (piece !== null && this.#pieces.has(piece)) return false;
    this.heard();
    if (this.#silentMs >= SETTLING_MS || this.#stragglers >= MAX_STRAGGLERS) return true;
    this.#stragglers += 1;
    return false;
  }

  /** The agent says something: until now it was silent. */
  heard(): void {
    const now = this.#clock.now();
    this.#silentMs += now - this.#listeningSince;
    this.#listeningSince = now;
  }

  /** What the agent said has been taken: it is listened to again. While the journal had no room it was not. */
  listening(): void {
    this.#listeningSince = this.#clock.now();
  }

  /** Some work has ended: what is still to come of it comes without a silence. */
  settle(): void {
    this.#silentMs = 0;
    this.#stragglers = 0;
    this.listening();
  }
}
