import {
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
  type DatabaseIntrospector,
  type Dialect,
  type Kysely,
  type TableMetadata,
} from 'kysely';
import type { Pool } from 'pg';
import { PostgresDriver } from './postgres-driver.ts';

/** The ledger migrates under a lock that ends with its transaction; Kysely's would outlive one that failed. */
class LockedByTransactionAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {
    await Promise.resolve();
  }

  override async releaseMigrationLock(): Promise<void> {
    await Promise.resolve();
  }
}

/** Sees the schema that the ledger's tables are in, and no columns: a server may hold thousands of tables of others. */
class OwnSchemaIntrospector extends PostgresIntrospector {
  readonly #db: Kysely<unknown>;

  constructor(db: Kysely<unknown>) {
    super(db);
    this.#db = db;
  }

  override async getTables(): Promise<TableMetadata[]> {
    const { rows } = await sql<{
      schema: string;
      name: string;
    }>`select schemaname as schema, tablename as name
      from pg_tables where schemaname = current_schema()`.execute(this.#db);
    return rows.map(({ schema, name }) => ({ schema, name, isView: false, isForeign: false, columns: [] }));
  }
}

/** Kysely over a pool of `pg`. Destroying the Kysely instance ends the pool. */
export function postgresDialect(pool: Pool): Dialect {
  return {
    createAdapter: () => new LockedByTransactionAdapter(),
    createDriver: () => new PostgresDriver(pool),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db: Kysely<unknown>): DatabaseIntrospector => new OwnSchemaIntrospector(db),
  };
}
