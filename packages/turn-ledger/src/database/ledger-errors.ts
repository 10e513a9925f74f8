import type { z } from 'zod';

/** Why a ledger cannot be used. `busy`: another process kept it locked for longer than the ledger waits. */
export type LedgerUnavailableReason =
  | 'busy'
  | 'cannot_open'
  | 'cannot_write'
  | 'closed'
  | 'corrupt'
  | 'disk_full'
  | 'io_error'
  | 'migration_failed'
  | 'not_a_database';

const WHAT_TO_DO: Record<LedgerUnavailableReason, string> = {
  busy: 'another process keeps it locked; end that process',
  cannot_open: 'make sure that its directory exists and that this process may read and write it',
  cannot_write: 'make the file and its directory writable for this process',
  closed: 'it was closed; open it again',
  corrupt: 'the file is damaged; restore it from a backup',
  disk_full: 'the disk is full; make room on it',
  io_error: 'the disk reported an error; look at the system log',
  migration_failed: 'its tables could not be brought up to date, and nothing was changed; see the cause',
  not_a_database: 'the file is something else; give the ledger a path of its own',
};

/**
 * The database could not be opened, or was lost. What was being done was not stored (a lost commit may have been, which is
 * why every write of the ledger may be repeated); acknowledge nothing to a control server on its strength.
 */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';
  readonly code = 'ledger_unavailable';
  readonly reason: LedgerUnavailableReason;
  /** The database file. */
  readonly path: string;

  constructor(facts: { reason: LedgerUnavailableReason; path: string; cause?: unknown }) {
    super(`The ledger ${facts.path} is not available (${facts.reason}): ${WHAT_TO_DO[facts.reason]}.`, {
      cause: facts.cause,
    });
    this.reason = facts.reason;
    this.path = facts.path;
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
