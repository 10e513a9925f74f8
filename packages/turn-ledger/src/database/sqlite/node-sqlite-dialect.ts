import type { DatabaseSync } from 'node:sqlite';
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseIntrospector,
  type Dialect,
  type Kysely,
} from 'kysely';
import type { DatabaseFiles } from './database-files.ts';
import { NodeSqliteDriver } from './node-sqlite-driver.ts';

/** SQLite does roll table changes back; a migration that fails leaves nothing behind. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely over the one connection that `database` is, in these files. Destroying the Kysely instance closes it. */
export function nodeSqliteDialect(database: DatabaseSync, files: DatabaseFiles): Dialect {
  return {
    createAdapter: () => new TransactionalDdlAdapter(),
    createDriver: () => new NodeSqliteDriver(database, files),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db: Kysely<unknown>): DatabaseIntrospector => new SqliteIntrospector(db),
  };
}
