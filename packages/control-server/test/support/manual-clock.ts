import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../src/ports/clock.ts';

interface Timer {
  readonly dueAt: number;
  readonly action: () => void;
}

/** A clock that moves when a test says so. */
export class ManualClock implements Clock {
  #now = 0;
  #timers: Timer[] = [];
  #wallOffsetMs = 0;

  now(): number {
    return this.#now;
  }

  wall(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#now + this.#wallOffsetMs);
  }

  setTimer(delayMs: number, action: () => void): () => void {
    const timer = { dueAt: this.#now + delayMs, action };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves on, running what becomes due, in order. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.dueAt - b.dueAt).find(({ dueAt }) => dueAt <= until);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.action();
    }
    this.#now = until;
  }

  /** Lets time pass until the work is done, for work that waits for it, e.g. a stop that looks again and again. */
  async runWhile<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    const isOver = (): void => {
      over.abort();
    };
    work.then(isOver, isOver);
    while (!over.signal.aborted) {
      this.advance(20);
      await wait(1);
    }
    return await work;
  }

  /** Time in which nothing runs: what became due meanwhile runs, late, when the clock is moved next. */
  sleep(ms: number): void {
    this.#now += ms;
  }

  /** Sets the time of day, and that alone. */
  setWall(offsetMs: number): void {
    this.#wallOffsetMs = offsetMs;
  }
}

/** The machine's clock, `factor` times as fast. */
export function fastClock(factor: number): Clock {
  const start = performance.now();
  const wallStart = Date.now();
  const passed = (): number => (performance.now() - start) * factor;
  return {
    now: passed,
    wall: () => new Date(wallStart + passed()),
    setTimer: (delayMs, action) => {
      const timeout = setTimeout(action, delayMs / factor);
      return () => {
        clearTimeout(timeout);
      };
    },
  };
}
