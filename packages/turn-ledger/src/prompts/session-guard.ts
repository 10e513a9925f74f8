import { AsyncLocalStorage } from 'node:async_hooks';

/** A hold of a session's guard, as the work under it sees it. */
export interface Held {
  /**
   * Calls the action right after the guard is released, whatever the work came to. For what must not be heard while the guard
   * is held: cancel escalation publishes its ready event so (GENERATION-10). It must not throw.
   */
  afterRelease(action: () => void): void;
  /**
   * Runs foreign code that may ask for this guard: as long as `work` goes on, holds of this session that come from it run
   * inside this one, one after the other, instead of waiting for it for ever.
   */
  lend<T>(work: () => Promise<T> | T): Promise<T>;
}

/** Limits of a hold. */
export interface HoldOptions {
  readonly signal?: AbortSignal;
  /**
   * Where the guard is lent to foreign code, runs inside that hold at once: for what has to get through although that code may never
   * come to an end, such as a stop.
   */
  readonly joinsLent?: boolean;
}

/** A hold that is lent to foreign code. */
interface Lease {
  readonly sessionId: string;
  readonly held: Held;
  /** Ends with the code that it was lent to. */
  open: boolean;
  /** Settles when everything that was asked for inside is through. */
  tail: Promise<void>;
}

/**
 * One holder for each session at a time, first come first served. It covers cancel plus the acceptance of a replacement
 * prompt at most, and is never held while waiting for a prompt's end. A holder that waits for its own session waits for ever,
 * unless the hold was lent to it.
 */
export class SessionGuard {
  /** For each guarded session, what the next one waits for: settles when everybody before it is through. */
  readonly #tails = new Map<string, Promise<void>>();
  readonly #lent = new AsyncLocalStorage<Lease>();
  /** The holds that are lent now, by session. */
  readonly #leases = new Map<string, Lease>();

  /**
   * Runs `work` while holding the guard, and gives its result. When the signal aborts before its turn has come, `work` is not
   * run and the call rejects with the signal's reason; afterwards the signal means nothing here.
   */
  async hold<T>(
    sessionId: string,
    work: (held: Held) => Promise<T> | T,
    options: HoldOptions = {},
  ): Promise<T> {
    const lease = this.#lent.getStore();
    if (lease?.open === true && lease.sessionId === sessionId) return await joinLease(lease, work);
    const lent = this.#leases.get(sessionId);
    if (options.joinsLent === true && lent !== undefined) {
      options.signal?.throwIfAborted();
      return await joinLease(lent, work);
    }
    const before = this.#tails.get(sessionId);
    const { promise: through, resolve: leave } = Promise.withResolvers<void>();
    const tail = before === undefined ? through : before.then(async () => await through);
    this.#tails.set(sessionId, tail);
    const afterwards: Array<() => void> = [];
    try {
      options.signal?.throwIfAborted();
      if (before !== undefined) await raceAbort(before, options.signal);
      return await work(this.#held(sessionId, afterwards));
    } finally {
      leave();
      void this.#forget(sessionId, tail);
      for (const action of afterwards) action();
    }
  }

  /** Whether somebody holds the session's guard or waits for it. */
  isHeld(sessionId: string): boolean {
    return this.#tails.has(sessionId);
  }

  /** Starts what outlives the hold under which it is started: nothing of it runs inside a hold that was lent. */
  outside<T>(start: () => T): T {
    return this.#lent.exit(start);
  }

  #held(sessionId: string, afterwards: Array<() => void>): Held {
    const held: Held = {
      afterRelease: (action) => {
        afterwards.push(action);
      },
      lend: async (work) => {
        const lease: Lease = { sessionId, held, open: true, tail: Promise.resolve() };
        this.#leases.set(sessionId, lease);
        try {
          return await this.#lent.run(lease, work);
        } finally {
          lease.open = false;
          this.#leases.delete(sessionId);
          await lease.tail;
        }
      },
    };
    return held;
  }

  async #forget(sessionId: string, tail: Promise<void>): Promise<void> {
    await tail;
    if (this.#tails.get(sessionId) === tail) this.#tails.delete(sessionId);
  }
}

async function joinLease<T>(lease: Lease, work: (held: Held) => Promise<T> | T): Promise<T> {
  const done = lease.tail.then(async () => await work(lease.held));
  lease.tail = done.then(
    () => undefined,
    () => undefined,
  );
  return await done;
}

async function raceAbort(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await turn;
    return;
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([turn, aborted]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
