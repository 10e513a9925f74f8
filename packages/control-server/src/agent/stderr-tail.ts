const MAX_LINES = 200;
const MAX_BYTES = 64 * 1024;
/** In characters. A longer line is cut into several, so that one without an end does not grow for ever. */
const LONGEST_LINE = 4096;

/** The last lines of an agent's stderr: at most 200, at most 64 KiB. */
export class StderrTail {
  #lines: string[] = [];
  #bytes = 0;
  #rest = '';
  #truncated = false;

  /** Takes a piece of text, wherever it is cut. */
  add(text: string): void {
    const lines = this.#lastOf(this.#rest + text).split('\n');
    this.#rest = '';
    const unfinished = lines.pop() ?? '';
    for (const line of lines) this.#keep(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (unfinished.length <= LONGEST_LINE) this.#rest = unfinished;
    else this.#keep(unfinished);
  }

  /** What is kept, oldest first; `truncated` says whether there was more. */
  read(): { readonly lines: string[]; readonly truncated: boolean } {
    const whole = new StderrTail();
    whole.#lines = [...this.#lines];
    whole.#bytes = this.#bytes;
    whole.#truncated = this.#truncated;
    if (this.#rest !== '') whole.#keep(this.#rest);
    return { lines: whole.#lines, truncated: whole.#truncated };
  }

  /** The part of a text that may be kept: of one that floods, most is gone again at once. */
  #lastOf(text: string): string {
    let start = text.length;
    for (let line = 0; line <= MAX_LINES && start > 0; line += 1) start = text.lastIndexOf('\n', start - 1);
    if (start <= 0) return text;
    this.#truncated = true;
    return text.slice(start + 1);
  }

  #keep(line: string): void {
    for (let start = 0; start === 0 || start < line.length; start += LONGEST_LINE) {
      const part = line.slice(start, start + LONGEST_LINE);
      this.#lines.push(part);
      this.#bytes += Buffer.byteLength(part);
    }
    while (this.#lines.length > MAX_LINES || this.#bytes > MAX_BYTES) {
      this.#bytes -= Buffer.byteLength(this.#lines.shift() ?? '');
      this.#truncated = true;
    }
  }
}
