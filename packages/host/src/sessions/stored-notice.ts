/** Tells readers of a session's events that more are stored. */
export class StoredNotice {
  readonly #coming = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves at the next notice for the session. Take it before reading, so that nothing is missed in between. */
  next(sessionId: string): Promise<void> {
    let coming = this.#coming.get(sessionId);
    if (coming === undefined) {
      coming = Promise.withResolvers<void>();
      this.#coming.set(sessionId, coming);
    }
    return coming.promise;
  }

  /** Events of the session have been stored. */
  notify(sessionId: string): void {
    const coming = this.#coming.get(sessionId);
    this.#coming.delete(sessionId);
    coming?.resolve();
  }
}
