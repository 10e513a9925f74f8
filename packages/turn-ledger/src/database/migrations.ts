import { isNativeError } from 'node:util/types';
import { sql, type Kysely } from 'kysely';
import { Migrator, type Migration } from 'kysely/migration';
import { LedgerTooNewError, LedgerUnavailableError } from './ledger-errors.ts';
import { withRetries, type DatabaseContext } from './ledger-database.ts';
import type { LedgerSchema } from './schema.ts';
import { createTables } from './migrations/0001-create-tables.ts';
import { admitUnpromptedTurns } from './migrations/0002-admit-unprompted-turns.ts';
import { addExecutionEvidence } from './migrations/0003-add-execution-evidence.ts';
import { addTaskEnvironments } from './migrations/0004-task-environments.ts';
import { addSessionChoices } from './migrations/0005-session-choices.ts';

/** In the order in which they run; a name is never changed, and a migration never either once it is released. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-create-tables': { up: createTables },
  '0002-admit-unprompted-turns': { up: admitUnpromptedTurns },
  '0003-add-execution-evidence': { up: addExecutionEvidence },
  '0004-task-environments': { up: addTaskEnvironments },
  '0005-session-choices': { up: addSessionChoices },
};

const MIGRATION_TABLE = 'ledger_migrations';

/** The tables of {@link LedgerSchema}. */
const TABLES: ReadonlySet<string> = new Set<keyof LedgerSchema>([
  'tasks',
  'sessions',
  'executions',
  'turns',
  'event_cursors',
  'events',
  'control_servers',
]);

/** How migrations of one ledger keep out of each other's way. */
export interface MigrationGuard {
  /** Takes a lock that ends with the transaction; gives the schema that tables are made in, where there are schemas. */
  readonly lock: (trx: Kysely<LedgerSchema>) => Promise<string | undefined>;
}

/**
 * Brings the tables up to date, forward only, in one transaction. Throws {@link LedgerTooNewError} and leaves everything
 * alone when the database has seen a migration that this code does not know; the same when tables of these names are
 * somebody else's.
 */
export async function migrate(
  kysely: Kysely<LedgerSchema>,
  context: DatabaseContext,
  guard: MigrationGuard,
): Promise<void> {
  await withRetries(
    async () =>
      await kysely.transaction().execute(async (trx) => {
        const schema = await guard.lock(trx);
        if (await isUpToDate(trx, { path: context.path, schema })) return;
        const migrator = new Migrator({
          db: trx,
          provider: { getMigrations: async () => await Promise.resolve(MIGRATIONS) },
          migrationTableName: MIGRATION_TABLE,
          migrationLockTableName: 'ledger_migration_lock',
          ...(schema === undefined ? {} : { migrationTableSchema: schema }),
        });
        const { error } = await migrator.migrateToLatest();
        if (error === undefined) return;
        // Under the lock nobody else is in the way; what can be tried again, the caller tries again.
        if (isNativeError(error) && context.classify(error) !== null) throw error;
        throw new LedgerUnavailableError({ reason: 'migration_failed', path: context.path, cause: error });
      }),
    context,
  );
}

/** Whether there is nothing to do; throws {@link LedgerTooNewError}, or `foreign_tables`. */
async function isUpToDate(
  trx: Kysely<LedgerSchema>,
  { path, schema }: { readonly path: string; readonly schema: string | undefined },
): Promise<boolean> {
  const tables = (await trx.introspection.getTables())
    .filter((table) => table.schema === schema)
    .map((table) => table.name);
  if (!tables.includes(MIGRATION_TABLE)) {
    const taken = tables.filter((name) => TABLES.has(name));
    if (taken.length === 0) return false;
    throw new LedgerUnavailableError({ reason: 'foreign_tables', path, detail: taken.join(' and ') });
  }
  const { rows } = await sql<{
    name: string;
  }>`select name from ${sql.table(MIGRATION_TABLE)} order by name`.execute(trx);
  const known = Object.keys(MIGRATIONS);
  const supportedVersion = known.at(-1) ?? 'none';
  const newest = rows.at(-1)?.name;
  if (newest !== undefined && !known.includes(newest)) {
    throw new LedgerTooNewError({ path, databaseVersion: newest, supportedVersion });
  }
  return newest === supportedVersion;
}
