const LINE_FEED = 0x0a;

/** Which lines of a text: from the 1-based `first` on, `count` of them or all that follow. Line ends stay as they are. */
export interface LineRange {
  readonly first: number;
  readonly count: number;
}

/** The bytes of a range of lines, or null when they are more than `maxBytes`. Reads no further than it must. */
export async function readLineRange(
  chunks: AsyncIterable<Buffer>,
  { first, count }: LineRange,
  maxBytes: number,
): Promise<Buffer | null> {
  const taken: Buffer[] = [];
  let bytes = 0;
  let line = 1;
  for await (const chunk of chunks) {
    let position = 0;
    while (position < chunk.length && line < first + count) {
      const feed = chunk.indexOf(LINE_FEED, position);
      const end = feed < 0 ? chunk.length : feed + 1;
      if (line >= first) {
        bytes += end - position;
        if (bytes > maxBytes) return null;
        taken.push(chunk.subarray(position, end));
      }
      if (feed >= 0) line += 1;
      position = end;
    }
    if (line >= first + count) break;
  }
  return Buffer.concat(taken);
}
