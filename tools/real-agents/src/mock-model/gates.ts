/** Named gates, closed until they are opened; an open gate stays open. */
export class Gates {
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();

  open(name: string): void {
    this.#gate(name).resolve();
  }

  /** Resolves when the gate is open, or at once when the signal aborts. */
  async passed(name: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const aborted = Promise.withResolvers<void>();
    const onAbort = (): void => {
      aborted.resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#gate(name).promise, aborted.promise]);
    signal.removeEventListener('abort', onAbort);
  }

  #gate(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }
}
