import type { ExcludedEvent } from '@holdfast/control-protocol';
import type { Clock } from '../ports/clock.ts';

/** What a journal has been through since it was made, for whoever shows figures. */
export interface JournalFigures {
  /** How often publishers had to wait; however many wait at the same time, it is one pause. */
  readonly pauses: number;
  /** For how long, a pause that goes on included, in milliseconds. */
  readonly pausedMs: number;
  /** The events of each excluded class that nobody was told of. */
  readonly dropped: Readonly<Record<ExcludedEvent['type'], number>>;
}

/** Counts pauses and what was let go. */
export class JournalCounters {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #onFirstDropped: (type: ExcludedEvent['type']) => void;
  readonly #dropped: Record<ExcludedEvent['type'], number> = {
    mcp_attachment_attempt: 0,
    mcp_attachment_evidence: 0,
  };
  #pauses = 0;
  #pausedMs = 0;
  #pausedSince: number | null = null;

  /** `onFirstDropped` is called once for each class, so that whoever logs it has a bound. */
  constructor(clock: Pick<Clock, 'now'>, onFirstDropped: (type: ExcludedEvent['type']) => void) {
    this.#clock = clock;
    this.#onFirstDropped = onFirstDropped;
  }

  read(): JournalFigures {
    return {
      pauses: this.#pauses,
      pausedMs: this.#pausedMs + this.#thisPauseMs(),
      dropped: { ...this.#dropped },
    };
  }

  /** Whether publishers wait now; said again, it changes nothing. */
  paused(isPaused: boolean): void {
    if (isPaused === (this.#pausedSince !== null)) return;
    if (isPaused) this.#pauses += 1;
    this.#pausedMs += this.#thisPauseMs();
    this.#pausedSince = isPaused ? this.#clock.now() : null;
  }

  dropped(type: ExcludedEvent['type']): void {
    this.#dropped[type] += 1;
    if (this.#dropped[type] === 1) this.#onFirstDropped(type);
  }

  #thisPauseMs(): number {
    return this.#pausedSince === null ? 0 : this.#clock.now() - this.#pausedSince;
  }
}
