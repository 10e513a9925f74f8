/** The lines of a stream of text, without their ends; a last line without an end counts. */
export async function* readLines(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let unfinished: string[] = [];
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      yield unfinished.join('') + piece.slice(start, end);
      unfinished = [];
      start = end + 1;
    }
    unfinished.push(piece.slice(start));
  }
  const rest = unfinished.join('');
  if (rest !== '') yield rest;
}
