import { once } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Writable } from 'node:stream';

const LONGEST_STRETCH_MS = 10;

/** Writes lines no faster than their reader takes them. Lines come out whole and in the order of the calls. */
export class LineWriter {
  readonly #stream: Writable;
  readonly #end: string;
  readonly #pieceBytes: number | undefined;
  #pausedAt = 0;
  #pieces: Promise<void> = Promise.resolve();

  /** `end` stands after each line; with `pieceBytes` lines leave in pieces of that size. */
  constructor(
    stream: Writable,
    options: { readonly end?: string; readonly pieceBytes?: number | undefined } = {},
  ) {
    this.#stream = stream;
    this.#end = options.end ?? '\n';
    this.#pieceBytes = options.pieceBytes;
  }

  /** Settles when there is room for the next line: not before the reader has taken enough of what is buffered. */
  async write(line: string, end = this.#end): Promise<void> {
    if (this.#pieceBytes !== undefined) {
      await (this.#pieces = this.#writePieces(this.#pieces, Buffer.from(line + end), this.#pieceBytes));
    } else if (!this.#stream.write(line + end)) {
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

  async #writePieces(before: Promise<void>, bytes: Buffer, size: number): Promise<void> {
    await before;
    for (let start = 0; start < bytes.length; start += size) {
      this.#stream.write(bytes.subarray(start, start + size));
      await this.flush();
      await nextRound(); // the reader gets a chance to see the piece by itself
    }
  }
}
