import { pause, type Clock } from '../ports/clock.ts';

// A tree that another start is installing is looked for this often.
const LOOK_EVERY_MS = 250;

/** One start of a package that npm runs. */
export interface Entry {
  readonly key: string;
  readonly signal: AbortSignal;
  /** Whether the package is installed for this start. */
  readonly isInstalled: () => Promise<boolean>;
}

/**
 * Starts of one package that is not installed yet go one after the other, because npm 10 spoils a tree that two of it install at
 * once. The first goes at once; a later one goes when the package is installed, or when the one before it is over.
 */
export class ColdStarts {
  readonly #clock: Clock;
  readonly #running = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for its turn; the answer says that this start is over. Rejects with the reason of the signal. */
  async enter({ key, signal, isInstalled }: Entry): Promise<() => void> {
    for (;;) {
      signal.throwIfAborted();
      const running = this.#running.get(key);
      if (running === undefined) return this.#run(key);
      if (await isInstalled()) return () => undefined;
      const over = new AbortController();
      await Promise.race([
        running,
        pause(this.#clock, LOOK_EVERY_MS, AbortSignal.any([signal, over.signal])),
      ]);
      over.abort();
    }
  }

  #run(key: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(key, promise);
    return () => {
      this.#running.delete(key);
      resolve();
    };
  }
}
