import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseIntrospector,
  type Dialect,
  type Kysely,
} from 'kysely';
import type { NodeSqliteDriver } from './node-sqlite-driver.ts';

/** SQLite does roll table changes back; a migration that fails leaves nothing behind. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely over the one connection of a driver. Destroying the Kysely instance closes it. */
export function nodeSqliteDialect(driver: NodeSqliteDriver): Dialect {
  return {
    createAdapter: () => new TransactionalDdlAdapter(),
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db: Kysely<unknown>): DatabaseIntrospector => new SqliteIntrospector(db),
  };
}
