import {
  closeSync,
  fchmodSync,
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
 * failure to write (a full disk) loses lines and nothing else; the constructor throws when the file cannot be opened. What is no
 * regular file, such as a device, is written to and otherwise left as it is.
 */
export class BoundedLogFile {
  readonly #path: string;
  readonly #bounds: LogBounds;
  readonly #now: () => number;
  readonly #isRegular: boolean;
  #fd: number;
  #isClosed = false;
  #size: number;
  #isTorn = false;
  #prunedAt: number;

  constructor(path: string, options: { readonly bounds: LogBounds; readonly now: () => number }) {
    this.#path = path;
    this.#bounds = options.bounds;
    this.#now = options.now;
    makeFolder(dirname(path));
    this.#fd = openPrivate(path);
    const facts = fstatSync(this.#fd);
    this.#isRegular = facts.isFile();
    this.#size = facts.size;
    this.#prunedAt = this.#now();
    this.#prune();
  }

  /** Takes one line, end included. Never throws. */
  write(line: string): void {
    if (this.#isClosed) return;
    // What the last write left of a line must not run into this one.
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let written = 0;
    try {
      if (this.#isFull(bytes.length)) this.#rotate();
      else if (this.#now() - this.#prunedAt > PRUNE_EVERY_MS) this.#prune();
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written);
    } catch {
      // A full disk must not end the server, and there is no other place to say so.
    }
    this.#size += written;
    if (written > 0) this.#isTorn = written < bytes.length;
  }

  /** Closes the file; what is written later is lost. */
  close(): void {
    if (this.#isClosed) return;
    // The number of the descriptor may be another file's from here on.
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  #isFull(moreBytes: number): boolean {
    return this.#isRegular && this.#size > 0 && this.#size + moreBytes > this.#bounds.maxBytes;
  }

  #rotate(): void {
    makeFolder(dirname(this.#path));
    // The new file comes first: without it nothing moves, or each failure would push a backup out.
    const next = `${this.#path}.next`;
    const fresh = openPrivate(next);
    try {
      this.#shiftBackups();
      renameSync(next, this.#path);
    } catch (error) {
      closeSync(fresh);
      throw error;
    }
    closeSync(this.#fd);
    this.#fd = fresh;
    this.#size = fstatSync(fresh).size;
    this.#isTorn = false;
    this.#prune();
  }

  #shiftBackups(): void {
    for (let n = this.#bounds.backups; n >= 1; n -= 1) {
      const from = n === 1 ? this.#path : this.#backup(n - 1);
      try {
        renameSync(from, this.#backup(n));
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
  }

  /** Takes away backups that are too many or too old; what cannot be taken away now stays until the next time. */
  #prune(): void {
    this.#prunedAt = this.#now();
    if (!this.#isRegular) return;
    const folder = dirname(this.#path);
    const name = basename(this.#path);
    try {
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
    } catch {
      // The folder may be gone, or a file in it may just have gone.
    }
  }

  #backup(n: number): string {
    return `${this.#path}.${String(n)}`;
  }
}

function openPrivate(path: string): number {
  const fd = openSync(path, 'a', 0o600);
  if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600);
  return fd;
}
