import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  LedgerInputError,
  LedgerTooNewError,
  LedgerUnavailableError,
  openLedger,
} from '@holdfast/turn-ledger';
import { runProgram, startProgram } from '@holdfast/testbeds';
import { eachDatabase } from '../each-database.ts';
import { aSession, gone, rejection } from '../recorded-session.ts';

const OPENER = join(import.meta.dirname, '../fixtures/open-at-once.ts');
const OPEN = [process.execPath, '--conditions=@holdfast/source', OPENER];

eachDatabase((database) => {
  describe('a database that cannot be used', () => {
    it("is refused, and left alone, when it has another program's tables", async () => {
      const url = await database.fresh();
      await database.query(url, "create table turns (id text); insert into turns values ('theirs')");
      const error = await rejection(openLedger({ url }), LedgerUnavailableError);
      expect(error).toMatchObject({ code: 'ledger_unavailable', reason: 'foreign_tables' });
      expect(error.message).toMatch(
        /\(foreign_tables, turns\): another program has tables of the same names there/,
      );
      expect(await database.query(url, 'select id from turns')).toEqual([{ id: 'theirs' }]);
      await expect(database.query(url, 'select * from ledger_migrations')).rejects.toThrow(
        'ledger_migrations',
      );
      await database.query(url, 'drop table turns');
      await (await openLedger({ url })).close();
    });

    it('is refused, and left alone, when a later version wrote it; both versions are named', async () => {
      const url = await database.fresh();
      await (await openLedger({ url })).close();
      const names = async (): Promise<readonly unknown[]> =>
        await database.query(url, 'select name from ledger_migrations order by name');
      const known = await names();
      await database.query(
        url,
        "insert into ledger_migrations values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')",
      );
      const error = await rejection(openLedger({ url }), LedgerTooNewError);
      expect(error).toMatchObject({ code: 'ledger_too_new', databaseVersion: '9999-from-the-future' });
      expect(known.at(-1)).toEqual({ name: error.supportedVersion });
      expect(error.message).toContain('9999-from-the-future');
      expect(error.message).toContain(error.supportedVersion);
      expect(await names()).toHaveLength(known.length + 1);
    });
  });

  it('processes that open it at once all get it, with its tables made once', async () => {
    const url = await database.fresh();
    await using programs = new AsyncDisposableStack();
    const openers = await Promise.all(
      Array.from({ length: 4 }, async () =>
        programs.use(await startProgram([...OPEN, url], { env: { NODE_OPTIONS: undefined } })),
      ),
    );
    await Promise.all(openers.map(async (opener) => await opener.nextLine('ready', { withinMs: 60_000 })));
    for (const opener of openers) opener.endInput();
    for (const opener of openers) {
      expect(await opener.exited).toMatchObject({ exitCode: 0 });
      expect(opener.lines()).toEqual(['ready', 'opened']);
    }
  });

  it('keeps the sessions of a version that knew no task environments', async () => {
    const url = await database.fresh();
    {
      await using ledger = await openLedger({ url });
      await ledger.sessions.create(aSession('s1'));
    }
    await database.query(url, 'alter table sessions drop column task_environment_id');
    await database.query(url, 'alter table sessions drop column choices');
    await database.query(url, "delete from ledger_migrations where name > '0004'");
    await using ledger = await openLedger({ url });
    expect(await ledger.sessions.get('s1')).toMatchObject({ sessionId: 's1', taskEnvironmentId: null });
    await ledger.sessions.create(aSession('s2', { taskEnvironmentId: 'environment-7' }));
    expect(await ledger.sessions.get('s2')).toMatchObject({ taskEnvironmentId: 'environment-7' });
  });

  it('is reported as closed after it was closed, and closing again does nothing', async () => {
    const ledger = await openLedger({ url: await database.fresh() });
    await ledger.close();
    await ledger.close();
    for (const use of [ledger.tasks.list(), ledger.tasks.ensure('late'), ledger.reconcile(gone('s'))]) {
      expect((await rejection(use, LedgerUnavailableError)).reason).toBe('closed');
    }
  });

  it('lets what is under way finish before it closes', async () => {
    const url = await database.fresh();
    const ledger = await openLedger({ url });
    const underWay = Array.from(
      { length: 20 },
      async (_, index) => await ledger.tasks.ensure(`t${String(index)}`),
    );
    await ledger.close();
    await Promise.all(underWay);
    expect(await database.query(url, 'select count(*) as count from tasks')).toEqual([{ count: 20 }]);
  });

  it('takes no text that one of the databases would not keep, not even to look for it', async () => {
    await using ledger = await openLedger({ url: await database.fresh() });
    for (const id of ['a\0b', 'a\uD83D']) {
      const error = await rejection(ledger.sessions.get(id), LedgerInputError);
      expect(error.message).toContain('must not hold NUL or a lone surrogate');
      await rejection(ledger.executionWriter.end(id, 'stopped'), LedgerInputError);
    }
  });

  it('lets the process end when it is closed', async () => {
    const url = await database.fresh();
    const { exitCode, stdout } = await runProgram([...OPEN, url], {
      timeoutMs: 60_000,
      env: { NODE_OPTIONS: undefined },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'ready\nopened\n' });
  });
});
