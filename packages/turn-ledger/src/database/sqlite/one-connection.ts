import { setImmediate } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { DatabaseAccess } from '../ledger-database.ts';
import type { LedgerReader, LedgerSchema, LedgerTransaction } from '../schema.ts';
import { SharedTransactions } from '../shared-transactions.ts';
import type { NodeSqliteDriver } from './node-sqlite-driver.ts';

/** SQLite answers within the call and every await is a microtask; after so long the event loop gets a turn. */
const MAX_SLICE_MS = 10;

/**
 * The way to the tables where one connection does everything: one work after the other, each alone with it until its end. What
 * Kysely does for each transaction and statement, so that many connections can be shared, would cost more here than the statements
 * themselves; it builds them and no more.
 */
export class OneConnection implements DatabaseAccess {
  readonly #driver: NodeSqliteDriver;
  readonly #kysely: Kysely<LedgerSchema>;
  readonly #tables: LedgerTransaction;
  readonly #shared = new SharedTransactions(async (work) => await this.transact(work));
  #last: Promise<void> = Promise.resolve();
  #sliceStart = 0;

  constructor(driver: NodeSqliteDriver, kysely: Kysely<LedgerSchema>) {
    this.#driver = driver;
    this.#kysely = kysely;
    this.#tables = {
      selectFrom: kysely.selectFrom.bind(kysely),
      insertInto: kysely.insertInto.bind(kysely),
      updateTable: kysely.updateTable.bind(kysely),
      deleteFrom: kysely.deleteFrom.bind(kysely),
      getExecutor: kysely.getExecutor.bind(kysely),
      executeQuery: driver.connection.executeQuery.bind(driver.connection),
    };
  }

  async read<T>(work: (db: LedgerReader) => Promise<T>): Promise<T> {
    return await this.#inTurn(async () => await work(this.#tables));
  }

  async transact<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T> {
    return await this.#inTurn(async () => {
      this.#driver.begin();
      try {
        const result = await work(this.#tables);
        this.#driver.commit();
        return result;
      } catch (error) {
        this.#driver.rollback();
        throw error;
      }
    });
  }

  async transactTogether<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T> {
    return await this.#shared.run(work);
  }

  async close(): Promise<void> {
    await this.#kysely.destroy();
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    await before;
    try {
      if (performance.now() - this.#sliceStart > MAX_SLICE_MS) {
        await setImmediate();
        this.#sliceStart = performance.now();
      }
      return await work();
    } finally {
      turn.resolve();
    }
  }
}
