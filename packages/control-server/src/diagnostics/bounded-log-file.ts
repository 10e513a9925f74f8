import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../ports/make-folder.ts';
import { systemCode } from '../ports/system-error.ts';

/** The bounds of a log: the size of one file, how many old ones are kept, and for how long. */
export interface LogBounds {
  readonly maxBytes: number;
  readonly backups: number;
  readonly maxAgeMs: number;
}

/** Fixed values (SURVIVAL-001.3): with nobody attached nobody would tidy up. */
export const LOG_BOUNDS: LogBounds = {
  maxBytes: 10 * 1024 * 1024,
  backups: 5,
  maxAgeMs: 14 * 24 * 3_600_000,
};

const PRUNE_EVERY_MS = 3_600_000;

/**
 * A log file within bounds, with backups `<file>.1` and on. A line is in the kernel when `write` returns. Once it is open a
 * failure to write (a full disk) loses lines and nothing else; the constructor throws when the file cannot be opened.
 */
export class BoundedLogFile {
  readonly #path: string;
  readonly #bounds: LogBounds;
  readonly #now: () => number;
  #fd: number;
  #isClosed = false;
  #size: number;
  #prunedAt: number;

  constructor(path: string, options: { readonly bounds: LogBounds; readonly now: () => number }) {
    this.#path = path;
    this.#bounds = options.bounds;
    this.#now = options.now;
    makeFolder(dirname(path));
    this.#fd = openPrivate(path);
    this.#size = fstatSync(this.#fd).size;
    this.#prunedAt = this.#now();
    this.#prune();
  }

  /** Takes one line, end included. Never throws. */
  write(line: string): void {
    if (this.#isClosed) return;
    const bytes = Buffer.from(line);
    try {
      if (this.#size > 0 && this.#size + bytes.length > this.#bounds.maxBytes) this.#rotate();
      else if (this.#now() - this.#prunedAt > PRUNE_EVERY_MS) this.#prune();
      writeSync(this.#fd, bytes);
      this.#size += bytes.length;
    } catch {
      // A full disk must not end the server, and there is no other place to say so.
    }
  }

  /** Closes the file; what is written later is lost. */
  close(): void {
    if (this.#isClosed) return;
    // The number of the descriptor may be another file's from here on.
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  #rotate(): void {
    for (let n = this.#bounds.backups; n >= 1; n -= 1) {
      const from = n === 1 ? this.#path : this.#backup(n - 1);
      try {
        renameSync(from, this.#backup(n));
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
    const fresh = openPrivate(this.#path);
    closeSync(this.#fd);
    this.#fd = fresh;
    this.#size = fstatSync(fresh).size;
    this.#prune();
  }

  #prune(): void {
    this.#prunedAt = this.#now();
    const folder = dirname(this.#path);
    const name = basename(this.#path);
    for (const entry of readdirSync(folder)) {
      const number = entry.startsWith(`${name}.`)
        ? /^\d+$/.exec(entry.slice(name.length + 1))?.[0]
        : undefined;
      if (number === undefined) continue;
      const file = join(folder, entry);
      const ageMs = this.#now() - statSync(file).mtimeMs;
      if (Number(number) > this.#bounds.backups || ageMs > this.#bounds.maxAgeMs)
        rmSync(file, { force: true });
    }
  }

  #backup(n: number): string {
    return `${this.#path}.${String(n)}`;
  }
}

function openPrivate(path: string): number {
  const fd = openSync(path, 'a', 0o600);
  chmodSync(path, 0o600);
  return fd;
}
