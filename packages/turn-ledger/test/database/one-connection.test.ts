import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely } from 'kysely';
import type { LedgerReader, LedgerSchema, LedgerTransaction } from '../../src/database/schema.ts';
import { createTables } from '../../src/database/migrations/0001-create-tables.ts';
import { DatabaseFiles } from '../../src/database/sqlite/database-files.ts';
import { nodeSqliteDialect } from '../../src/database/sqlite/node-sqlite-dialect.ts';
import { NodeSqliteDriver } from '../../src/database/sqlite/node-sqlite-driver.ts';
import { OneConnection } from '../../src/database/sqlite/one-connection.ts';
import { openSqlite } from '../../src/database/sqlite/open-sqlite.ts';

const TASK = { state: 'in_progress', interrupted: 0, failed: 0, created_at: 1, updated_at: 1 } as const;

async function addTask(trx: LedgerTransaction, taskId: string): Promise<void> {
  await trx
    .insertInto('tasks')
    .values({ task_id: taskId, ...TASK })
    .execute();
}

async function tasks(db: LedgerReader): Promise<readonly string[]> {
  const rows = await db.selectFrom('tasks').select('task_id').orderBy('task_id').execute();
  return rows.map(({ task_id }) => task_id);
}

describe('the one connection of a SQLite ledger', () => {
  let connection: OneConnection;

  beforeEach(async () => {
    const driver = new NodeSqliteDriver(openSqlite(':memory:'), new DatabaseFiles(':memory:'));
    const kysely = new Kysely<LedgerSchema>({ dialect: nodeSqliteDialect(driver) });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- migrations know of no tables yet
    await createTables(kysely as unknown as Kysely<unknown>);
    connection = new OneConnection(driver, kysely);
  });

  afterEach(async () => {
    await connection.close();
  });

  it('lets nobody see a transaction that is not over, and all that come after it', async () => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const steps: string[] = [];
    const first = connection.transact(async (trx) => {
      await addTask(trx, 'one');
      steps.push('one begins');
      begun.resolve();
      await gate.promise;
      await addTask(trx, 'two');
      steps.push('one ends');
    });
    await begun.promise;
    const seen = connection.read(async (db) => {
      steps.push('read');
      return await tasks(db);
    });
    const second = connection.transact(async (trx) => {
      steps.push('another');
      await addTask(trx, 'three');
    });
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(steps).toEqual(['one begins']);
    gate.resolve();
    await Promise.all([first, second]);
    expect(await seen).toEqual(['one', 'two']);
    expect(steps).toEqual(['one begins', 'one ends', 'read', 'another']);
    expect(await connection.read(tasks)).toEqual(['one', 'three', 'two']);
  });

  it('stores nothing of a transaction that fails, says why, and goes on', async () => {
    const ends = await Promise.allSettled([
      connection.transact(async (trx) => {
        await addTask(trx, 'one');
        throw new Error('changed its mind');
      }),
      connection.transact(async (trx) => {
        await addTask(trx, 'two');
        await addTask(trx, 'two');
      }),
      connection.transact(async (trx) => {
        await addTask(trx, 'three');
      }),
    ]);
    expect(ends).toMatchObject([
      { reason: { message: 'changed its mind' } },
      { reason: { message: expect.stringContaining('UNIQUE') } },
      { status: 'fulfilled' },
    ]);
    await expect(
      connection.read(async () => {
        await Promise.resolve();
        throw new Error('cannot read');
      }),
    ).rejects.toThrow('cannot read');
    expect(await connection.read(tasks)).toEqual(['three']);
  });
});
