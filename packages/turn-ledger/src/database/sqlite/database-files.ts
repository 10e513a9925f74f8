import { realpathSync, statSync, type Stats } from 'node:fs';

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
 * The files of a database that is open, told by their inodes. SQLite does not look: with write-ahead log it goes on writing into files
 * that were removed, and every commit succeeds until the process ends.
 */
export class DatabaseFiles {
  readonly #known: readonly KnownFile[];

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

  /** Throws {@link DatabaseFileGoneError}. To be called before every commit; it costs some microseconds. */
  assertInPlace(): void {
    for (const { path, dev, ino } of this.#known) {
      const found = look(path);
      if (found?.ino !== ino || found.dev !== dev) throw new DatabaseFileGoneError({ path });
    }
  }
}

/** Never opens the file: closing it would drop the locks that SQLite has on it. */
function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
