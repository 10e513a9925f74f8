// oxlint-disable typescript/require-await -- Kysely asks for promises
import { isNativeError } from 'node:util/types';
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { statementName } from '../prepared-statement.ts';
import { assertStorableText } from '../stored-values.ts';
import { classifyPostgresError } from './classify-postgres-error.ts';
import { commitFate } from './commit-fate.ts';
import { CommitInDoubtError } from './commit-in-doubt-error.ts';
import { NotConnectedError } from './not-connected-error.ts';

/**
 * Read committed is enough, because every guard is the WHERE of a write. The number comes with the first answer, so that the fate of
 * a commit whose answer was lost can be asked for. A commit that was acknowledged must be on the server's disk, also where its owner
 * turned that off: said in each transaction, because a pooler may lend each one another session.
 */
const BEGIN = `start transaction isolation level read committed; select txid_current()::text as xid,
  case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'local', true) end`;

/** SQLSTATE of every statement after one that failed. */
const IN_FAILED_TRANSACTION = '25P02';

/** Kysely's driver over a pool of `pg`. Unlike Kysely's own, it learns what became of a commit whose connection broke. */
export class PostgresDriver implements Driver {
  readonly #pool: Pool;
  /** Until it turns out that a pooler lends sessions to whoever comes: what one session keeps, another does not know. */
  readonly #keeping: Keeping = { isOn: true };

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    try {
      return new PostgresConnection(await this.#pool.connect(), this.#keeping);
    } catch (error) {
      throw classifyPostgresError(error) === null ? new NotConnectedError(error) : error;
    }
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    try {
      await connection.begin();
    } catch (error) {
      // It may have begun all the same and have failed then; Kysely rolls back only what it has seen begin.
      await connection.rollback();
      throw error;
    }
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    try {
      await connection.commit();
    } catch (error) {
      if (!connection.broken) throw error;
      // Its place in the pool is needed to ask.
      connection.release();
      const fate = await commitFate(this.#pool, connection.xid);
      if (fate === 'committed') return;
      throw fate === 'aborted' ? error : new CommitInDoubtError(error);
    }
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    // The error that led here counts; a connection that cannot roll back is given up, and its transaction with it.
    await connection.rollback();
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

/** One connection while somebody has it. */
class PostgresConnection implements DatabaseConnection {
  readonly client: PoolClient;
  /** The number of the transaction that is under way. */
  xid = '';
  /** It cannot be used any more and does not go back into the pool. */
  broken = false;
  /** Why the transaction that is under way has failed. */
  #failure: Error | undefined;
  #released = false;
  readonly #keeping: Keeping;

  constructor(client: PoolClient, keeping: Keeping) {
    this.client = client;
    this.#keeping = keeping;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const name = this.#keeping.isOn ? statementName(query) : undefined;
    const values = query.parameters.map(toBind);
    const { rows, rowCount } = await this.run({
      text: query.sql,
      values,
      ...(name === undefined ? {} : { name }),
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kysely derived R from the query itself
    return { rows: rows as R[], ...(rowCount === null ? {} : { numAffectedRows: BigInt(rowCount) }) };
  }

  // oxlint-disable-next-line eslint/require-yield -- part of Kysely's interface; the ledger reads bounded lists
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('The ledger does not stream queries.');
  }

  async begin(): Promise<void> {
    this.#failure = undefined;
    // Two statements in one message give a list of results, which the types of pg do not know of.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the second answer is the number's
    const answers = (await this.run(BEGIN)) as unknown as ReadonlyArray<{ rows: Array<{ xid: string }> }>;
    this.xid = answers[1]?.rows[0]?.xid ?? '';
  }

  async commit(): Promise<void> {
    const { command } = await this.run('commit');
    // So PostgreSQL answers when a statement of the transaction had failed before.
    if (command === 'ROLLBACK') throw new Error('The transaction had failed before it was to be committed.');
  }

  async rollback(): Promise<void> {
    if (this.broken) return;
    try {
      await this.client.query('rollback');
    } catch {
      this.broken = true;
    }
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.client.release(this.broken);
  }

  async run(statement: string | QueryConfig): Promise<Answer> {
    try {
      return await this.client.query(statement);
    } catch (error) {
      if (codeOf(error) === '26000' || codeOf(error) === '42P05') this.#keeping.isOn = false;
      const reason = classifyPostgresError(error);
      if (reason === 'connection_lost' || reason === 'cannot_connect') this.broken = true;
      // Statements after the one that failed are refused with no word of why.
      if (codeOf(error) === IN_FAILED_TRANSACTION && this.#failure !== undefined) throw this.#failure;
      if (isNativeError(error)) this.#failure = error;
      throw error;
    }
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** Whether sessions keep statements parsed. */
interface Keeping {
  isOn: boolean;
}

interface Answer {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
  readonly command: string;
}

/** Only what is stored as it is; `pg` would turn objects and dates into texts of its own. */
function toBind(value: unknown): string | number | bigint | null {
  if (typeof value === 'string') assertStorableText(value);
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
    return value;
  }
  throw new TypeError(
    `A value of type ${typeof value} cannot be stored; turn it into text, a number or null first.`,
  );
}
