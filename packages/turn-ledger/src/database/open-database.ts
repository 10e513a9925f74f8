import { setTimeout } from 'node:timers/promises';
import { Kysely } from 'kysely';
import { ledgerDatabase, withRetries, type DatabaseContext, type LedgerDatabase } from './ledger-database.ts';
import { migrate } from './migrations.ts';
import type { LedgerSchema } from './schema.ts';
import { classifySqliteError } from './sqlite/classify-sqlite-error.ts';
import { nodeSqliteDialect } from './sqlite/node-sqlite-dialect.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

/**
 * Opens the database file and brings its tables up to date. Throws `LedgerUnavailableError`, `LedgerTooNewError` and
 * `NodeSqliteMissingError`.
 */
export async function openDatabase(path: string): Promise<LedgerDatabase> {
  const context: DatabaseContext = { path, classify: classifySqliteError, pause };
  const sqlite = await withRetries(async () => await Promise.resolve(openSqlite(path)), context);
  const kysely = new Kysely<LedgerSchema>({ dialect: nodeSqliteDialect(sqlite) });
  try {
    await migrate(kysely, context);
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
  return ledgerDatabase(kysely, context);
}

/** Longer from try to try, and never twice the same, so that two processes do not meet again and again. */
async function pause(attempt: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(500, 10 * 2 ** attempt));
}
