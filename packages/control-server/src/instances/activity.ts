import type { Clock } from '../ports/clock.ts';

/** The use that is made of an instance: the requests in flight, and when something last happened on it. */
export class Activity {
  readonly #clock: Pick<Clock, 'now'>;
  #requestsInFlight = 0;
  #lastAt: number;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#lastAt = clock.now();
  }

  get requestsInFlight(): number {
    return this.#requestsInFlight;
  }

  /** How long nothing has happened, in milliseconds. */
  get quietMs(): number {
    return this.#clock.now() - this.#lastAt;
  }

  /** Something happened: a stream came or went, or the agent said something. */
  touch(): void {
    this.#lastAt = this.#clock.now();
  }

  /** Runs the work of one request, which counts as in flight meanwhile. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    this.#requestsInFlight += 1;
    this.touch();
    try {
      return await work();
    } finally {
      this.#requestsInFlight -= 1;
      this.touch();
    }
  }
}
