import { once } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Writable } from 'node:stream';

const LONGEST_STRETCH_MS = 10;

/** Writes lines no faster than their reader takes them. Lines come out whole and in the order of the calls. */
export class LineWriter {
  readonly #stream: Writable;
  #pausedAt = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Settles when there is room for the next line: not before the reader has taken enough of what is buffered. */
  async write(line: string): Promise<void> {
    if (!this.#stream.write(`${line}\n`)) {
      await once(this.#stream, 'drain');
    } else if (performance.now() - this.#pausedAt > LONGEST_STRETCH_MS) {
      await nextRound(); // a fast reader must not keep the agent from reading its own input
      this.#pausedAt = performance.now();
    }
  }

  /** Settles when everything written so far has been handed to the system. */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stream.write('', () => {
        resolve();
      });
    });
  }
}
