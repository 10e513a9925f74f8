import type { z } from 'zod';

/**
 * Why a ledger cannot be used. `busy`: others were in the way for longer than the ledger waits. `access_denied`,
 * `cannot_connect`, `connection_lost`, `pool_exhausted` and `too_many_connections` are of PostgreSQL only, `file_gone` of SQLite only.
 */
export type LedgerUnavailableReason =
  | 'access_denied'
  | 'busy'
  | 'cannot_connect'
  | 'cannot_open'
  | 'cannot_write'
  | 'closed'
  | 'connection_lost'
  | 'corrupt'
  | 'disk_full'
  | 'file_gone'
  | 'foreign_tables'
  | 'io_error'
  | 'migration_failed'
  | 'not_a_database'
  | 'pool_exhausted'
  | 'too_many_connections';

const WHAT_TO_DO: Record<LedgerUnavailableReason, string> = {
  access_denied: 'the server refuses this user, or what it has to do; check user, password and privileges',
  busy: 'another process keeps it locked; end that process',
  cannot_connect: 'its server takes no connection; make sure that it runs and can be reached, and try again',
  cannot_open: 'make sure that the directory or database exists and that this process may read and write it',
  cannot_write: 'make the file and its directory, or the server, writable for this process',
  closed: 'it was closed; open it again',
  connection_lost: 'the connection to its server broke; try again',
  corrupt: 'what is stored is damaged; restore it from a backup',
  disk_full: 'the disk is full; make room on it',
  file_gone:
    'it was removed or replaced while it was open; put it back, or restore a backup and start this process again',
  foreign_tables: 'another program has tables of the same names there; give the ledger a place of its own',
  io_error: 'its disk or server reported an error; look at the log of the system or server',
  migration_failed: 'its tables could not be brought up to date, and nothing was changed; see the cause',
  not_a_database: 'the file is something else; give the ledger a path of its own',
  pool_exhausted:
    'all connections stayed in use; allow more (postgres.poolSize), or look for statements that hang',
  too_many_connections:
    'its server takes no more connections; allow more there, or fewer here (postgres.poolSize)',
};

/**
 * The database could not be opened, or was lost. What was being done was not stored, unless `mayBeStored` says that nobody
 * knows; acknowledge nothing to a control server on its strength. Outcomes and events may be repeated in either case.
 */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';
  readonly code = 'ledger_unavailable';
  readonly reason: LedgerUnavailableReason;
  /** The database file, or the address of the database without its secrets. */
  readonly path: string;
  /** The connection broke during the commit, and the server could not be asked what became of it. */
  readonly mayBeStored: boolean;

  constructor(facts: {
    reason: LedgerUnavailableReason;
    path: string;
    mayBeStored?: boolean;
    /** What exactly, e.g. names of tables. */
    detail?: string;
    cause?: unknown;
  }) {
    const { reason, path, mayBeStored = false, detail, cause } = facts;
    const what = detail === undefined ? reason : `${reason}, ${detail}`;
    const stored = mayBeStored ? ' What was being done may have been stored.' : '';
    super(`The ledger ${path} is not available (${what}): ${WHAT_TO_DO[reason]}.${stored}`, { cause });
    this.reason = reason;
    this.path = path;
    this.mayBeStored = mayBeStored;
  }
}

/** The database was written by a later version of this package. It was left as it is. */
export class LedgerTooNewError extends Error {
  override readonly name = 'LedgerTooNewError';
  readonly code = 'ledger_too_new';
  readonly path: string;
  /** The last migration that the database has seen. */
  readonly databaseVersion: string;
  /** The last migration that this code knows. */
  readonly supportedVersion: string;

  constructor(facts: { path: string; databaseVersion: string; supportedVersion: string }) {
    super(
      `The ledger ${facts.path} is at version ${facts.databaseVersion}, and this code knows up to ${facts.supportedVersion}; ` +
        'update @holdfast/turn-ledger, or restore the backup that was made before the update.',
    );
    this.path = facts.path;
    this.databaseVersion = facts.databaseVersion;
    this.supportedVersion = facts.supportedVersion;
  }
}

/** A value that was handed to the ledger does not fit; nothing was stored. */
export class LedgerInputError extends Error {
  override readonly name = 'LedgerInputError';
  readonly code = 'ledger_input';
  /** What was handed in, e.g. `session`. */
  readonly what: string;
  /** One line for each thing that is wrong. */
  readonly issues: readonly string[];

  constructor(facts: { what: string; issues: readonly string[] }) {
    super(`The ${facts.what} cannot be stored: ${facts.issues.join('; ')}.`);
    this.what = facts.what;
    this.issues = facts.issues;
  }
}

/** A stored row is not what this code writes: somebody else changed it. */
export class LedgerRowError extends Error {
  override readonly name = 'LedgerRowError';
  readonly code = 'ledger_row';
  readonly table: string;
  readonly key: string;
  readonly issues: readonly string[];

  constructor(facts: { table: string; key: string; issues: readonly string[] }) {
    super(
      `Row ${facts.key} of ${facts.table} is not readable: ${facts.issues.join('; ')}. Repair or remove the row.`,
    );
    this.table = facts.table;
    this.key = facts.key;
    this.issues = facts.issues;
  }
}

/** A bug in the ledger: it was used from inside one of its own transactions, which would wait for itself for ever. */
export class NestedTransactionError extends Error {
  override readonly name = 'NestedTransactionError';
  readonly code = 'nested_transaction';

  constructor() {
    super(
      'The ledger was used from inside one of its own transactions; use the transaction that was handed in.',
    );
  }
}

/** What a schema found wrong, one line each. */
export function issueLines(error: z.ZodError): string[] {
  return error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')} ${message}`,
  );
}
