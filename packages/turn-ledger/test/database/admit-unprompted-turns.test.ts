import { expect, it } from '@jest/globals';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { openLedger } from '@holdfast/turn-ledger';
import { testHome } from '@holdfast/testbeds';
import { createTables } from '../../src/database/migrations/0001-create-tables.ts';
import { DatabaseFiles } from '../../src/database/sqlite/database-files.ts';
import { nodeSqliteDialect } from '../../src/database/sqlite/node-sqlite-dialect.ts';
import { NodeSqliteDriver } from '../../src/database/sqlite/node-sqlite-driver.ts';
import { openSqlite } from '../../src/database/sqlite/open-sqlite.ts';
import { ended, numbered, started } from '../recorded-session.ts';

const ROWS = `
  insert into tasks values ('t', 'in_progress', 0, 0, 1, 1);
  insert into sessions values ('s', 't', 'a', 'standalone', '/w', 'managed', 'running', null, '{}', 2, 0, 1, 1);
  insert into executions values ('e', 's', 't', 'standalone', 'standalone', 'i', 'a', '/w', null, '{}', 1, null, 1, null);
  insert into turns values ('first', 's', 1, 'e', 1, 'c1', 'completed', '[{"type":"text","text":"NUL \\u0000"}]',
    '{"kind":"completed","stopReason":"end_turn"}', null, 1750000000123, 1750000000456);
  insert into turns values ('second', 's', 2, 'e', 2, null, 'dispatching', '[{"type":"text","text":"on its way"}]',
    null, null, 1750000000789, null);
`;

it('keeps the turns of a ledger of the first version, and lets agents work on their own from then on', async () => {
  await using home = await testHome('migration');
  const path = home.path('ledger.db');
  const database = openSqlite(path);
  const kysely = new Kysely<unknown>({
    dialect: nodeSqliteDialect(new NodeSqliteDriver(database, new DatabaseFiles(path))),
  });
  await new Migrator({
    db: kysely,
    provider: {
      getMigrations: async () => await Promise.resolve({ '0001-create-tables': { up: createTables } }),
    },
    migrationTableName: 'ledger_migrations',
    migrationLockTableName: 'ledger_migration_lock',
  }).migrateToLatest();
  database.exec(ROWS);
  await kysely.destroy();

  await using ledger = await openLedger({ url: path });
  expect(await ledger.turns.list('s')).toEqual([
    {
      startedBy: 'prompt',
      turnId: 'first',
      sessionId: 's',
      ordinal: 1,
      executionId: 'e',
      promptGeneration: 1,
      controlTurnId: 'c1',
      state: 'completed',
      content: [{ type: 'text', text: 'NUL \0' }],
      outcome: { kind: 'completed', stopReason: 'end_turn' },
      dispatchError: null,
      createdAt: new Date(1750000000123).toISOString(),
      endedAt: new Date(1750000000456).toISOString(),
    },
    expect.objectContaining({ turnId: 'second', state: 'dispatching', endedAt: null }),
  ]);
  await ledger.events.append(
    'e',
    numbered(1, started('own', 0), ended('own', 0), started('c2', 2), ended('c2', 2)),
  );
  expect(
    (await ledger.turns.list('s')).map(({ turnId, ordinal, state }) => [turnId, ordinal, state]),
  ).toEqual([
    ['first', 1, 'completed'],
    ['second', 2, 'completed'],
    ['own', 3, 'completed'],
  ]);
});
