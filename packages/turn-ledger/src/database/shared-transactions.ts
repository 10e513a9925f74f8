import type { LedgerTransaction } from './schema.ts';

type Transact = <T>(work: (trx: LedgerTransaction) => Promise<T>) => Promise<T>;

/** A work, and what its caller waits for. */
interface Waiting {
  readonly run: (trx: LedgerTransaction) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

// Enough that commits do not count any more, and few enough that nobody's answer takes long.
const MOST_TOGETHER = 32;

/**
 * Lets works that come while one is under way share the next transaction, because where one connection does everything a commit is
 * what costs most. They must not depend on each other. Each has its own end: where a shared transaction fails, nothing of it is
 * stored, and each work gets one of its own.
 */
export class SharedTransactions {
  readonly #transact: Transact;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(transact: Transact) {
    this.#transact = transact;
  }

  /** Runs the work, perhaps more than once; resolves once it is stored. */
  async run<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const run = async (trx: LedgerTransaction): Promise<() => void> => {
        const value = await work(trx);
        return () => {
          resolve(value);
        };
      };
      this.#waiting.push({ run, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, MOST_TOGETHER);
      if (together.length === 1 || !(await this.#storeTogether(together))) {
        for (const one of together) await this.#storeAlone(one);
      }
    }
    this.#running = false;
  }

  /** False when nothing of it was stored. */
  async #storeTogether(works: readonly Waiting[]): Promise<boolean> {
    try {
      const resolvers = await this.#transact(async (trx) => {
        const stored: Array<() => void> = [];
        for (const { run } of works) stored.push(await run(trx));
        return stored;
      });
      for (const resolve of resolvers) resolve();
      return true;
    } catch {
      return false;
    }
  }

  async #storeAlone({ run, reject }: Waiting): Promise<void> {
    try {
      (await this.#transact(run))();
    } catch (error) {
      reject(error);
    }
  }
}
