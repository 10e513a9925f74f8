/** The starts of agents that are under way: whoever stops a session, or cancels what it does, ends its start. */
export class StartsUnderWay {
  readonly #aborts = new Map<string, AbortController>();
  readonly #running = new Set<Promise<unknown>>();

  /** Does the work of a start; its signal aborts with the given one, or when the start is cancelled. One at a time a session. */
  async run<T>(
    sessionId: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    this.#aborts.set(sessionId, abort);
    const running = work(AbortSignal.any([signal, abort.signal]));
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      this.#aborts.delete(sessionId);
    }
  }

  /** Resolves when every start that is under way has come to its end, however that is. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Ends the session's start, which rejects with the reason; false when there is none. */
  cancel(sessionId: string, reason: Error): boolean {
    const abort = this.#aborts.get(sessionId);
    abort?.abort(reason);
    return abort !== undefined;
  }
}
