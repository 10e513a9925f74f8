import { setTimeout } from 'node:timers/promises';
import { Kysely, sql } from 'kysely';
import type { LedgerLocation } from '../ledger-url.ts';
import {
  ledgerDatabase,
  withRetries,
  type DatabaseAccess,
  type DatabaseContext,
  type LedgerDatabase,
} from './ledger-database.ts';
import { migrate, type MigrationGuard } from './migrations.ts';
import { classifyPostgresError } from './postgres/classify-postgres-error.ts';
import { openPool } from './postgres/open-pool.ts';
import { postgresDialect } from './postgres/postgres-dialect.ts';
import type { PoolSettings } from './postgres/postgres-options.ts';
import { postgresPlace } from './postgres/postgres-url.ts';
import { toldByPostgres } from './postgres/told-by-postgres.ts';
import type { LedgerSchema } from './schema.ts';
import { DatabaseFileGoneError, DatabaseFiles } from './sqlite/database-files.ts';
import { classifySqliteError } from './sqlite/classify-sqlite-error.ts';
import { nodeSqliteDialect } from './sqlite/node-sqlite-dialect.ts';
import { NodeSqliteDriver } from './sqlite/node-sqlite-driver.ts';
import { OneConnection } from './sqlite/one-connection.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

/** An arbitrary number: whoever migrates a ledger in a PostgreSQL database holds the advisory lock of it. */
const MIGRATION_LOCK = '5011847240166843217';

/**
 * Opens the database and brings its tables up to date. Throws `LedgerUnavailableError`, `LedgerTooNewError`, and
 * `NodeSqliteMissingError` or `PgMissingError`.
 */
export async function openDatabase(
  location: LedgerLocation,
  settings: PoolSettings,
): Promise<LedgerDatabase> {
  return location.kind === 'sqlite'
    ? await openSqliteDatabase(location.path)
    : await openPostgresDatabase(location.url, settings);
}

async function openSqliteDatabase(path: string): Promise<LedgerDatabase> {
  const context: DatabaseContext = {
    path,
    classify: classifySqliteError,
    told: (error) => (error instanceof DatabaseFileGoneError ? error.path : undefined),
    pause,
  };
  const sqlite = await withRetries(async () => await Promise.resolve(openSqlite(path)), context);
  const driver = new NodeSqliteDriver(sqlite, new DatabaseFiles(path));
  const kysely = new Kysely<LedgerSchema>({ dialect: nodeSqliteDialect(driver) });
  await bringUpToDate(kysely, context, {
    // `begin immediate` keeps others out.
    lock: async () => await Promise.resolve(undefined),
  });
  return ledgerDatabase(new OneConnection(driver, kysely), context);
}

async function openPostgresDatabase(url: string, settings: PoolSettings): Promise<LedgerDatabase> {
  const context: DatabaseContext = {
    path: postgresPlace(url),
    classify: classifyPostgresError,
    told: toldByPostgres,
    pause,
  };
  const kysely = new Kysely<LedgerSchema>({ dialect: postgresDialect(await openPool(url, settings)) });
  await bringUpToDate(kysely, context, {
    lock: async (trx) => {
      await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)}::bigint)`.execute(trx);
      const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(trx);
      return rows[0]?.schema ?? undefined;
    },
  });
  const transact: DatabaseAccess['transact'] = async (work) => await kysely.transaction().execute(work);
  const access: DatabaseAccess = {
    read: async (work) => await work(kysely),
    transact,
    transactTogether: transact,
    close: async () => {
      await kysely.destroy();
    },
  };
  return ledgerDatabase(access, context);
}

/** Migrates, and closes where that fails. */
async function bringUpToDate(
  kysely: Kysely<LedgerSchema>,
  context: DatabaseContext,
  guard: MigrationGuard,
): Promise<void> {
  try {
    await migrate(kysely, context, guard);
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
}

/** Longer from try to try, and never twice the same, so that two processes do not meet again and again. */
async function pause(attempt: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(500, 10 * 2 ** attempt));
}
