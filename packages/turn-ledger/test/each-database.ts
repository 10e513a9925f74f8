import { afterAll, beforeAll, describe } from '@jest/globals';
import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
import {
  postgresServer,
  requirement,
  testHome,
  type PostgresServer,
  type TestHome,
} from '@holdfast/testbeds';
import { Client, types } from 'pg';

const { builtins } = types;

type Row = Readonly<Record<string, unknown>>;

/** A kind of database that a suite runs on. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** The url of an empty database of its own, in PostgreSQL a schema of its own; it is gone when the suite ends. */
  fresh(): Promise<string>;
  /** Runs statements of another program, in one go; gives the rows of the only one. */
  query(url: string, sql: string): Promise<readonly Row[]>;
  /** As {@link query}, past all constraints. */
  damage(url: string, sql: string): Promise<void>;
  /** Ends its server at once and starts it again; null where there is no server. */
  readonly crash: (() => Promise<void>) | null;
}

/** {@link TestDatabase} of PostgreSQL, with its server. */
export interface TestPostgres extends TestDatabase {
  readonly server: PostgresServer;
}

/** Whether suites on PostgreSQL can run here. */
export const hasPostgres = requirement('postgres');

/** Runs the same suite on SQLite and on a real PostgreSQL server. */
export function eachDatabase(suite: (database: TestDatabase) => void): void {
  describe('in SQLite', () => {
    suite(sqliteDatabase());
  });
  (hasPostgres ? describe : describe.skip)('in PostgreSQL', () => {
    suite(postgresDatabase());
  });
}

function sqliteDatabase(): TestDatabase {
  let home: TestHome;
  let made = 0;
  beforeAll(async () => {
    home = await testHome('sqlite');
  });
  afterAll(async () => {
    await home[Symbol.asyncDispose]();
  });
  const use = (url: string, work: (database: InstanceType<typeof DatabaseSync>) => unknown): unknown => {
    const database = new DatabaseSync(url, { enableForeignKeyConstraints: false });
    try {
      return work(database);
    } finally {
      database.close();
    }
  };
  const { DatabaseSync } = loadNodeSqlite();
  return {
    name: 'SQLite',
    async fresh() {
      made += 1;
      return await Promise.resolve(home.path(`${String(made)}.db`));
    },
    async query(url, sql) {
      const rows = use(url, (database) =>
        /^select/i.test(sql)
          ? database
              .prepare(sql)
              .all()
              .map((row) => ({ ...row }))
          : database.exec(sql),
      );
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows or nothing
      return await Promise.resolve((rows ?? []) as readonly Row[]);
    },
    async damage(url, sql) {
      use(url, (database) => {
        database.exec(`pragma ignore_check_constraints = on; ${sql}`);
      });
      await Promise.resolve();
    },
    crash: null,
  };
}

// All check constraints of the tables, gone.
const UNCHECKED = `do $$ declare c record; begin
  for c in select conrelid::regclass as t, conname as n from pg_constraint
    where contype = 'c' and connamespace = current_schema()::regnamespace
  loop execute format('alter table %s drop constraint %I', c.t, c.n); end loop;
end $$`;

/** Starts a server for the suite that calls this; to be called while it is described. */
export function postgresDatabase(): TestPostgres {
  let home: TestHome;
  let server: PostgresServer | undefined;
  let made = 0;
  beforeAll(async () => {
    home = await testHome('postgres');
    server = await postgresServer(home);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });
  const started = (): PostgresServer => {
    if (server === undefined) throw new Error('the server of this suite has not started');
    return server;
  };
  return {
    name: 'PostgreSQL',
    get server() {
      return started();
    },
    async fresh() {
      made += 1;
      const schema = `ledger_${String(made)}`;
      // A schema is made in a moment, a database is not.
      await queryPostgres(started().url, `create schema ${schema}`);
      return `${started().url}?options=${encodeURIComponent(`-c search_path=${schema}`)}`;
    },
    query: queryPostgres,
    async damage(url, sql) {
      await queryPostgres(url, `${UNCHECKED}; set session_replication_role = replica; ${sql}`);
    },
    crash: async () => {
      await started().crash();
      await started().restart();
    },
  };
}

async function queryPostgres(url: string, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  client.setTypeParser(builtins.INT8, Number);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
