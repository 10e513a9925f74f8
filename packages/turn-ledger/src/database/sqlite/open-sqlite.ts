import type { DatabaseSync } from 'node:sqlite';
import { loadNodeSqlite } from './load-node-sqlite.ts';

/**
 * How long SQLite itself waits for a lock. Short, because it blocks the whole process; the ledger tries again in between.
 */
const BUSY_TIMEOUT_MS = 100;

/**
 * Opens a database file for durable commits: each is on the disk when it returns (WAL, full sync). One connection for each
 * file and process: two would wait for each other for ever, and closing one drops the file locks of the other.
 */
export function openSqlite(path: string): DatabaseSync {
  const { DatabaseSync } = loadNodeSqlite();
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${String(BUSY_TIMEOUT_MS)}`);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    // On a file that may not be written, a transaction begins all the same; only a write tells.
    database.exec('BEGIN IMMEDIATE; PRAGMA user_version = 1; ROLLBACK');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
