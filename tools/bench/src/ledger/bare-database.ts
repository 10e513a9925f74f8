import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Client } from 'pg';

/** Hand-written SQL through the driver that the ledger uses, with commits as durable as its. */
export interface BareDatabase extends AsyncDisposable {
  /** Runs a statement; gives its rows. Parameters are `$1`, `$2`, …, each used once and in this order. */
  run(sql: string, ...values: readonly SQLInputValue[]): Promise<ReadonlyArray<Record<string, unknown>>>;
}

/** Over `node:sqlite`, each statement prepared once. */
export function bareSqlite(path: string): BareDatabase {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  const statements = new Map<string, StatementSync>();
  return {
    async run(sql, ...values) {
      let statement = statements.get(sql);
      if (statement === undefined) {
        statement = database.prepare(sql.replaceAll(/\$\d+/g, '?'));
        statements.set(sql, statement);
      }
      return await Promise.resolve(statement.all(...values));
    },
    async [Symbol.asyncDispose]() {
      statements.clear();
      database.close();
      await Promise.resolve();
    },
  };
}

/** Over one connection of `pg`. */
export async function barePostgres(url: string): Promise<BareDatabase> {
  const client = new Client({ connectionString: url });
  // A run that is interrupted ends the server first.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`set synchronous_commit = local`);
  return {
    async run(sql, ...values) {
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    },
    async [Symbol.asyncDispose]() {
      await client.end();
    },
  };
}
