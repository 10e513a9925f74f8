import type { LedgerUnavailableReason } from '../ledger-errors.ts';
import { DatabaseFileGoneError } from './database-files.ts';

/** SQLite's primary result codes that mean that the database cannot be used (https://sqlite.org/rescode.html). */
const REASONS: ReadonlyMap<number, LedgerUnavailableReason> = new Map([
  [3, 'cannot_open'], // PERM
  [5, 'busy'], // BUSY, BUSY_SNAPSHOT, BUSY_RECOVERY
  [6, 'busy'], // LOCKED
  [7, 'io_error'], // NOMEM
  [8, 'cannot_write'], // READONLY
  [10, 'io_error'], // IOERR
  [11, 'corrupt'], // CORRUPT
  [13, 'disk_full'], // FULL
  [14, 'cannot_open'], // CANTOPEN
  [15, 'io_error'], // PROTOCOL: locks of the file system that do not work
  [22, 'io_error'], // NOLFS
  [26, 'not_a_database'], // NOTADB
]);

/** What an error of `node:sqlite` means for the ledger; null: nothing, e.g. a broken constraint or no SQLite error. */
export function classifySqliteError(error: unknown): LedgerUnavailableReason | null {
  if (error instanceof DatabaseFileGoneError) return 'file_gone';
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  if (error.code === 'ERR_INVALID_STATE') return 'closed';
  if (error.code !== 'ERR_SQLITE_ERROR' || !('errcode' in error)) return null;
  // The low byte is the primary code, what is above it makes it more exact.
  return typeof error.errcode === 'number' ? (REASONS.get(error.errcode & 0xff) ?? null) : null;
}
