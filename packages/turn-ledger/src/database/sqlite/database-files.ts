import { existsSync, realpathSync, statSync, type Stats } from 'node:fs';

/**
 * How often to look whether a file is still the same. Not each time: a look at its times makes the kernel keep the times of the next
 * write exactly, which makes the next sync a third slower.
 */
const SAME_FILE_EVERY_MS = 1000;

/** A file of a database was removed or replaced while the database was open: what is written goes where nobody finds it. */
export class DatabaseFileGoneError extends Error {
  override readonly name = 'DatabaseFileGoneError';
  readonly code = 'database_file_gone';
  readonly path: string;

  constructor(facts: { path: string }) {
    super(`The file ${facts.path} was removed or replaced while it was open.`);
    this.path = facts.path;
  }
}

interface KnownFile {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/**
 * The files of a database that is open. SQLite does not look: with write-ahead log it goes on writing into files that were removed, and
 * every commit succeeds until the process ends.
 */
export class DatabaseFiles {
  readonly #known: readonly KnownFile[];
  #comparedAt = performance.now();

  /** To be made once the database is open; `:memory:` has no files. */
  constructor(path: string) {
    const file = path === ':memory:' ? null : realpathSync(path);
    this.#known =
      file === null
        ? []
        : [file, `${file}-wal`].flatMap((of) => {
            const found = look(of);
            // Where a file system has no shared memory, SQLite uses no write-ahead log.
            return found === undefined ? [] : [{ path: of, dev: found.dev, ino: found.ino }];
          });
  }

  /**
   * Throws {@link DatabaseFileGoneError}. To be called before every commit; it costs some microseconds. That a file is missing is
   * seen at once, that there is another in its place within a second.
   */
  assertInPlace(): void {
    const now = performance.now();
    const compares = now - this.#comparedAt >= SAME_FILE_EVERY_MS;
    for (const known of this.#known) {
      if (!(compares ? isSame(known) : existsSync(known.path))) {
        // Until it is back, every look is a close one.
        this.#comparedAt = -Infinity;
        throw new DatabaseFileGoneError({ path: known.path });
      }
    }
    if (compares) this.#comparedAt = now;
  }
}

function isSame({ path, dev, ino }: KnownFile): boolean {
  const found = look(path);
  return found?.ino === ino && found.dev === dev;
}

/** Never opens the file: closing it would drop the locks that SQLite has on it. */
function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
