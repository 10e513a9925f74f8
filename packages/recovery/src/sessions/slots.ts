import { unlessAborted } from '../deadline.ts';

/**
 * How many works are under way at the same time. With hundreds of sessions at once every answer would come after the sum of all, and
 * time limits would end healthy agents. Who waits for a slot waits in the order in which it came; no time of its own runs meanwhile.
 */
export class Slots {
  #free: number;
  readonly #waiting: Array<() => void> = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Does the work as soon as there is a slot. Rejects with the signal's reason when that aborts before the work begins. */
  async run<Value>(signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn.resolve);
    try {
      await unlessAborted(turn.promise, signal);
    } catch (error) {
      const at = this.#waiting.indexOf(turn.resolve);
      // Its turn may have come in the very moment in which it gave up.
      if (at < 0) this.#give();
      else this.#waiting.splice(at, 1);
      throw error;
    }
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
