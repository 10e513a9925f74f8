import type { LedgerUnavailableReason } from '../ledger-errors.ts';
import { CommitInDoubtError } from './commit-in-doubt-error.ts';
import { NotConnectedError } from './not-connected-error.ts';

/** What whole classes of SQLSTATE mean (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const CLASSES: ReadonlyMap<string, LedgerUnavailableReason> = new Map([
  ['08', 'connection_lost'], // connection exception
  ['28', 'access_denied'], // no such user, wrong password
  ['58', 'io_error'], // system error
  ['XX', 'io_error'], // internal error, also of a pooler
]);

const STATES: ReadonlyMap<string, LedgerUnavailableReason> = new Map([
  ['40001', 'busy'], // serialization_failure
  ['40P01', 'busy'], // deadlock_detected
  ['55P03', 'busy'], // lock_not_available
  ['26000', 'busy'], // invalid_sql_statement_name: a pooler lent another session
  ['42P05', 'busy'], // duplicate_prepared_statement: the same
  ['57014', 'busy'], // query_canceled, by the statement_timeout of the server
  ['08P01', 'cannot_connect'], // protocol_violation: a pooler that refuses or gives up
  ['25P03', 'connection_lost'], // idle_in_transaction_session_timeout
  ['25P04', 'connection_lost'], // transaction_timeout
  ['57P01', 'connection_lost'], // admin_shutdown, pg_terminate_backend
  ['57P02', 'connection_lost'], // crash_shutdown
  ['57P03', 'cannot_connect'], // cannot_connect_now: it starts or stops
  ['57P05', 'connection_lost'], // idle_session_timeout
  ['53300', 'too_many_connections'],
  ['53100', 'disk_full'],
  ['53200', 'io_error'], // out_of_memory
  ['25006', 'cannot_write'], // read_only_sql_transaction: a standby
  ['3D000', 'cannot_open'], // invalid_catalog_name: no such database
  ['3F000', 'cannot_open'], // invalid_schema_name: nothing of the search_path exists
  ['42501', 'access_denied'], // insufficient_privilege
  ['XX001', 'corrupt'], // data_corrupted
  ['XX002', 'corrupt'], // index_corrupted
]);

/** Errors of Node: no connection was made, or it broke. */
const CANNOT_CONNECT = /^(ECONNREFUSED|ENOENT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EACCES)$/;
const BROKEN = /^(ECONNRESET|EPIPE|ETIMEDOUT|ECONNABORTED|ERR_STREAM_DESTROYED|ERR_STREAM_WRITE_AFTER_END)$/;

/** Errors of pg and its pool have words only. */
const SAID: ReadonlyArray<readonly [RegExp, LedgerUnavailableReason]> = [
  [/^timeout exceeded when trying to connect/, 'pool_exhausted'],
  [/^Connection terminated due to connection timeout|^timeout expired/, 'cannot_connect'],
  [
    /^Connection terminated|^Client has encountered a connection error|^Query read timeout|not queryable/,
    'connection_lost',
  ],
  [/^Cannot use a pool after calling end/, 'closed'],
  [/SASL|password must be a string/, 'access_denied'],
];

/** What an error of `pg` means for the ledger; null: nothing, e.g. a broken constraint or no error of a database. */
export function classifyPostgresError(error: unknown): LedgerUnavailableReason | null {
  if (error instanceof CommitInDoubtError) return 'connection_lost';
  if (error instanceof NotConnectedError) return 'cannot_connect';
  if (typeof error !== 'object' || error === null) return null;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (CANNOT_CONNECT.test(code)) return 'cannot_connect';
  if (BROKEN.test(code)) return 'connection_lost';
  if (/^[0-9A-Z]{5}$/.test(code)) return STATES.get(code) ?? CLASSES.get(code.slice(0, 2)) ?? null;
  const message = 'message' in error ? String(error.message) : '';
  return SAID.find(([words]) => words.test(message))?.[1] ?? null;
}
