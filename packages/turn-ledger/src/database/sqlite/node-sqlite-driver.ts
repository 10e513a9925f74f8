// oxlint-disable typescript/require-await -- Kysely asks for promises, and SQLite answers at once
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import { assertStorableText } from '../stored-values.ts';
import type { DatabaseFiles } from './database-files.ts';

const MAX_CACHED_STATEMENTS = 128;

/** Kysely's driver over `node:sqlite`. Whoever uses it has the connection alone: Kysely sees to that, or `OneConnection`. */
export class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #files: DatabaseFiles;
  readonly connection: NodeSqliteConnection;

  constructor(database: DatabaseSync, files: DatabaseFiles) {
    this.#database = database;
    this.#files = files;
    this.connection = new NodeSqliteConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.connection;
  }

  async beginTransaction(): Promise<void> {
    this.begin();
  }

  async commitTransaction(): Promise<void> {
    this.commit();
  }

  async rollbackTransaction(): Promise<void> {
    this.rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.connection.forgetStatements();
    this.#database.close();
  }

  begin(): void {
    // Takes the write lock at once: a deferred transaction that reads before it writes fails without waiting.
    this.connection.execute('begin immediate');
  }

  commit(): void {
    this.#files.assertInPlace();
    this.connection.execute('commit');
  }

  rollback(): void {
    // SQLite rolls back by itself after some errors; a second time would hide the first error.
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }
}

/** The connection that a driver is. */
class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  /** Oldest first. */
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { statement, givesRows } = this.#prepare(query.sql);
    const parameters = query.parameters.map(toBind);
    if (givesRows) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived R from the query itself
      return { rows: statement.all(...parameters) as R[] };
    }
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** Runs a statement that has neither parameters nor rows. */
  execute(sql: string): void {
    this.#prepare(sql).statement.run();
  }

  // oxlint-disable-next-line eslint/require-yield -- part of Kysely's interface; the ledger reads bounded lists
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The ledger does not stream queries.');
  }

  forgetStatements(): void {
    this.#statements.clear();
  }

  #prepare(sql: string): PreparedStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size === MAX_CACHED_STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    const prepared = prepare(this.#database, sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

interface PreparedStatement {
  readonly statement: StatementSync;
  readonly givesRows: boolean;
}

function prepare(database: DatabaseSync, sql: string): PreparedStatement {
  const statement = database.prepare(sql);
  return { statement, givesRows: statement.columns().length > 0 };
}

/** Only what SQLite stores as it is. `node:sqlite` would take an object for named parameters and bind NULL, silently. */
function toBind(value: unknown): SQLInputValue {
  if (typeof value === 'string') assertStorableText(value);
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
    return value;
  }
  throw new TypeError(
    `A value of type ${typeof value} cannot be stored; turn it into text, a number or null first.`,
  );
}
