/** What has been opened, to be closed in the opposite order, each once, whatever the others do. */
export class ClosingStack {
  readonly #closers: Array<() => Promise<void> | void> = [];

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Closes everything; throws the first failure when all is done. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
