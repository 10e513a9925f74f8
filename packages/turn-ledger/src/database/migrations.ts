import { sql, type Kysely } from 'kysely';
import { Migrator, type Migration } from 'kysely/migration';
import { LedgerTooNewError, LedgerUnavailableError } from './ledger-errors.ts';
import { withRetries, type DatabaseContext } from './ledger-database.ts';
import type { LedgerSchema } from './schema.ts';
import { createTables } from './migrations/0001-create-tables.ts';
import { admitUnpromptedTurns } from './migrations/0002-admit-unprompted-turns.ts';
import { addExecutionEvidence } from './migrations/0003-add-execution-evidence.ts';
import { addTaskEnvironments } from './migrations/0004-task-environments.ts';

/** In the order in which they run; a name is never changed, and a migration never either once it is released. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-create-tables': { up: createTables },
  '0002-admit-unprompted-turns': { up: admitUnpromptedTurns },
  '0003-add-execution-evidence': { up: addExecutionEvidence },
  '0004-task-environments': { up: addTaskEnvironments },
};

const MIGRATION_TABLE = 'ledger_migrations';

/**
 * Brings the tables up to date, forward only, in one transaction. Throws {@link LedgerTooNewError} and leaves everything
 * alone when the database has seen a migration that this code does not know.
 */
export async function migrate(kysely: Kysely<LedgerSchema>, context: DatabaseContext): Promise<void> {
  await withRetries(
    async () =>
      await kysely.transaction().execute(async (trx) => {
        if (await isUpToDate(trx, context.path)) return;
        const migrator = new Migrator({
          db: trx,
          provider: { getMigrations: async () => await Promise.resolve(MIGRATIONS) },
          migrationTableName: MIGRATION_TABLE,
          migrationLockTableName: 'ledger_migration_lock',
        });
        const { error } = await migrator.migrateToLatest();
        if (error === undefined) return;
        // Inside `begin immediate` nobody else is in the way, so trying again would not help.
        const reason = context.classify(error) ?? 'migration_failed';
        throw new LedgerUnavailableError({ reason, path: context.path, cause: error });
      }),
    context,
  );
}

/** Whether there is nothing to do; throws {@link LedgerTooNewError}. */
async function isUpToDate(trx: Kysely<LedgerSchema>, path: string): Promise<boolean> {
  const tables = await trx.introspection.getTables();
  if (!tables.some((table) => table.name === MIGRATION_TABLE)) return false;
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
