/** How many requests of each operation were answered with each status, since the server started. */
export class RequestCounts {
  readonly #counts = new Map<string, { operation: string; status: number; count: number }>();

  /** `operation` is the name of a row of the operation table, or `none` where a request reached none. */
  add(operation: string, status: number): void {
    const key = `${operation} ${String(status)}`;
    const counted = this.#counts.get(key) ?? { operation, status, count: 0 };
    counted.count += 1;
    this.#counts.set(key, counted);
  }

  list(): ReadonlyArray<{ readonly operation: string; readonly status: number; readonly count: number }> {
    return [...this.#counts.values()];
  }
}
