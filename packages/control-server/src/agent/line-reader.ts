import type { Readable } from 'node:stream';

/** A line was longer than allowed; nothing after it was read. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
  readonly code = 'line_too_long';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`The agent sent a line of more than ${String(maxBytes)} bytes.`);
    this.maxBytes = maxBytes;
  }
}

/** What a reader says about its waiting, so that a pipe that nobody writes to any more can be given up. */
export interface ReadWatch {
  readonly onWaiting: () => void;
  readonly onChunk: (bytes: number) => void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The lines of a stream, LF or CRLF, as UTF-8. The stream is read only as fast as lines are taken, one chunk ahead at most, so
 * a consumer that waits makes the writer wait. A last line without an end counts. Throws `LineTooLongError`.
 */
export async function* readLines(
  stream: Readable,
  maxBytes: number,
  watch: ReadWatch,
): AsyncGenerator<string, void> {
  let pieces: Buffer[] = [];
  let pieceBytes = 0;
  const keep = (piece: Buffer): void => {
    pieceBytes += piece.length;
    if (pieceBytes > maxBytes) throw new LineTooLongError(maxBytes);
    pieces.push(piece);
  };
  const takeLine = (): string => {
    const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    pieceBytes = 0;
    const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    return bytes.toString('utf8', 0, end);
  };
  watch.onWaiting();
  for await (const chunk of chunksOf(stream)) {
    watch.onChunk(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      yield takeLine();
    }
    if (start < chunk.length) keep(chunk.subarray(start));
    watch.onWaiting();
  }
  if (pieceBytes > 0) yield takeLine();
}

async function* chunksOf(stream: Readable): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of stream) {
      if (Buffer.isBuffer(chunk)) yield chunk;
    }
  } catch {
    // A pipe that breaks or is given up has come to its end.
  }
}
