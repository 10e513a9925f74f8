/**
 * One holder for each session at a time, first come first served. It covers cancel plus the acceptance of a replacement
 * prompt at most, and is never held while waiting for a prompt's end. Not re-entrant: a holder that waits for its own session
 * waits for ever.
 */
export class SessionGuard {
  /** For each guarded session, what the next one waits for: settles when everybody before it is through. */
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Runs `work` while holding the guard, and gives its result. When the signal aborts before its turn has come, `work` is not
   * run and the call rejects with the signal's reason; afterwards the signal means nothing here.
   */
  async hold<T>(
    sessionId: string,
    work: () => Promise<T> | T,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    const before = this.#tails.get(sessionId);
    const { promise: through, resolve: leave } = Promise.withResolvers<void>();
    const tail = before === undefined ? through : before.then(async () => await through);
    this.#tails.set(sessionId, tail);
    try {
      options.signal?.throwIfAborted();
      if (before !== undefined) await raceAbort(before, options.signal);
      return await work();
    } finally {
      leave();
      void this.#forget(sessionId, tail);
    }
  }

  /** Whether somebody holds the session's guard or waits for it. */
  isHeld(sessionId: string): boolean {
    return this.#tails.has(sessionId);
  }

  async #forget(sessionId: string, tail: Promise<void>): Promise<void> {
    await tail;
    if (this.#tails.get(sessionId) === tail) this.#tails.delete(sessionId);
  }
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
