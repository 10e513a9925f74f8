import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  LedgerTooNewError,
  LedgerUnavailableError,
  LedgerUrlError,
  openLedger,
  type Ledger,
} from '@holdfast/turn-ledger';
import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
import { runProgram, testHome } from '@holdfast/testbeds';
import { openSqlite } from '../../src/database/sqlite/open-sqlite.ts';
import { aSession, gone, rejection } from '../recorded-session.ts';

const { DatabaseSync } = loadNodeSqlite();

function query(path: string, sql: string): unknown[] {
  const database = new DatabaseSync(path);
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    database.close();
  }
}

describe('opening a ledger', () => {
  it('keeps what was written, under a path and under a sqlite: url', async () => {
    await using home = await testHome('open');
    const path = home.path('ledger.db');
    for (const [name, url] of [
      ['first', path],
      ['second', `sqlite:${path}`],
      ['third', `sqlite://${path}`],
    ] as const) {
      await using ledger = await openLedger({ url, clock: () => 1_000 });
      await ledger.sessions.create(aSession(name));
    }
    await using ledger = await openLedger({ url: path });
    const sessions = await ledger.sessions.list();
    expect(sessions.map((session) => session.sessionId)).toEqual(['first', 'second', 'third']);
    expect(sessions[0]?.createdAt).toBe('1970-01-01T00:00:01.000Z');
  });

  it('opens two in-memory ledgers that know nothing of each other', async () => {
    await using one = await openLedger({ url: ':memory:' });
    await using other = await openLedger({ url: 'sqlite::memory:' });
    await one.tasks.ensure('only-in-one');
    expect(await other.tasks.list()).toEqual([]);
  });

  it('commits to the disk: write-ahead log with full sync, foreign keys on', async () => {
    await using home = await testHome('open');
    const database = openSqlite(home.path('ledger.db'));
    const pragma = (name: string): unknown =>
      Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    expect({
      journal: pragma('journal_mode'),
      synchronous: pragma('synchronous'),
      foreignKeys: pragma('foreign_keys'),
    }).toEqual({ journal: 'wal', synchronous: 2, foreignKeys: 1 });
    database.close();
  });

  it.each([
    ['postgres://user:secret@db/ledger', /has the scheme "postgres:"/],
    ['file:///var/lib/ledger.db', /has the scheme "file:"/],
    ['sqlite:ledger.db', /names a relative path/],
    ['ledger.db', /is a relative path/],
    ['', /is a relative path/],
    ['/var/lib/\0ledger.db', /NUL/],
  ])('refuses %j and names what is accepted', async (url, said) => {
    const error = await rejection(openLedger({ url }), LedgerUrlError);
    expect(error.message).toMatch(said);
    expect(error.message).toMatch(
      /an absolute file path, "sqlite:" and an absolute file path, or ":memory:"/,
    );
    expect(error.message).not.toContain('secret');
  });
});

describe('a database that cannot be used', () => {
  it('names the path when the directory is missing', async () => {
    await using home = await testHome('open');
    const path = home.path('missing', 'ledger.db');
    const error = await rejection(openLedger({ url: path }), LedgerUnavailableError);
    expect(error).toMatchObject({ code: 'ledger_unavailable', reason: 'cannot_open', path });
    expect(error.message).toContain(path);
  });

  it('is refused when it is a directory', async () => {
    await using home = await testHome('open');
    const error = await rejection(openLedger({ url: home.root }), LedgerUnavailableError);
    expect(error.reason).toBe('cannot_open');
  });

  it.each([
    ['the file', 0o444, 0o777, 'cannot_write'],
    ['the directory', 0o666, 0o555, 'cannot_write'],
  ])('names the path when %s is not writable', async (_what, fileMode, directoryMode, reason) => {
    await using home = await testHome('open');
    await chmod(home.root, 0o755);
    const directory = await home.folder('data');
    const path = join(directory, 'ledger.db');
    await (await openLedger({ url: path })).close();
    await chmod(path, fileMode);
    await chmod(directory, directoryMode);
    const program = join(import.meta.dirname, '../fixtures/open-unprivileged.ts');
    const { stdout } = await runProgram([process.execPath, '--conditions=@holdfast/source', program, path], {
      timeoutMs: 20_000,
    });
    await chmod(directory, 0o755);
    expect(stdout).toBe(`${reason} ${path}\n`);
  });

  it('is refused, and left alone, when the file is something else', async () => {
    await using home = await testHome('open');
    const path = home.path('notes.txt');
    await writeFile(path, 'Not a database, but somebody needs it. '.repeat(100));
    const { size } = await stat(path);
    const error = await rejection(openLedger({ url: path }), LedgerUnavailableError);
    expect(error.reason).toBe('not_a_database');
    expect((await stat(path)).size).toBe(size);
  });

  it("is refused, and left alone, when it is another program's", async () => {
    await using home = await testHome('open');
    const path = home.path('other.db');
    const other = new DatabaseSync(path);
    other.exec("create table turns (id text); insert into turns values ('theirs')");
    other.close();
    const error = await rejection(openLedger({ url: path }), LedgerUnavailableError);
    expect(error.reason).toBe('migration_failed');
    expect(query(path, "select name from sqlite_master where type = 'table'")).toEqual([{ name: 'turns' }]);
    expect(query(path, 'select id from turns')).toEqual([{ id: 'theirs' }]);
  });

  it('is refused, and left alone, when a later version wrote it; both versions are named', async () => {
    await using home = await testHome('open');
    const path = home.path('ledger.db');
    await (await openLedger({ url: path })).close();
    const later = new DatabaseSync(path);
    later.exec("insert into ledger_migrations values ('9999-from-the-future', '2030-01-01T00:00:00.000Z')");
    later.close();
    const error = await rejection(openLedger({ url: path }), LedgerTooNewError);
    expect(error).toMatchObject({
      code: 'ledger_too_new',
      path,
      databaseVersion: '9999-from-the-future',
      supportedVersion: '0004-task-environments',
    });
    expect(error.message).toContain('9999-from-the-future');
    expect(error.message).toContain('0004-task-environments');
    expect(query(path, 'select name from ledger_migrations order by name')).toHaveLength(5);
  });

  it('keeps the sessions of a version that knew no task environments', async () => {
    await using home = await testHome('open');
    const path = home.path('ledger.db');
    {
      await using ledger = await openLedger({ url: path });
      await ledger.sessions.create(aSession('s1'));
    }
    const earlier = new DatabaseSync(path);
    earlier.exec(
      "alter table sessions drop column task_environment_id; delete from ledger_migrations where name > '0004'",
    );
    earlier.close();
    await using ledger = await openLedger({ url: path });
    expect(await ledger.sessions.get('s1')).toMatchObject({ sessionId: 's1', taskEnvironmentId: null });
    await ledger.sessions.create(aSession('s2', { taskEnvironmentId: 'environment-7' }));
    expect(await ledger.sessions.get('s2')).toMatchObject({ taskEnvironmentId: 'environment-7' });
  });

  it('is reported as closed after it was closed, and closing again does nothing', async () => {
    const ledger = await openLedger({ url: ':memory:' });
    await ledger.close();
    await ledger.close();
    for (const use of [ledger.tasks.list(), ledger.tasks.ensure('late'), ledger.reconcile(gone('s'))]) {
      expect((await rejection(use, LedgerUnavailableError)).reason).toBe('closed');
    }
  });

  it('lets what is under way finish before it closes', async () => {
    await using home = await testHome('open');
    const path = home.path('ledger.db');
    const ledger = await openLedger({ url: path });
    const underWay = Array.from(
      { length: 20 },
      async (_, index) => await ledger.tasks.ensure(`t${String(index)}`),
    );
    await ledger.close();
    await Promise.all(underWay);
    expect(query(path, 'select count(*) as count from tasks')).toEqual([{ count: 20 }]);
  });
});

describe('a database that another process keeps locked', () => {
  async function lockedLedger(path: string): Promise<{ ledger: Ledger; unlock: () => void }> {
    const ledger = await openLedger({ url: path });
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    return {
      ledger,
      unlock: () => {
        other.close();
      },
    };
  }

  it('is waited for', async () => {
    await using home = await testHome('busy');
    const { ledger, unlock } = await lockedLedger(home.path('ledger.db'));
    const writing = ledger.tasks.ensure('patient');
    // The ledger waits in slices, and other things go on in between.
    await new Promise((resolve) => setTimeout(resolve, 150));
    unlock();
    expect(await writing).toMatchObject({ taskId: 'patient' });
    await ledger.close();
  });

  it('is reported as busy when that lasts too long, and usable afterwards', async () => {
    await using home = await testHome('busy');
    const { ledger, unlock } = await lockedLedger(home.path('ledger.db'));
    const error = await rejection(ledger.tasks.ensure('patient'), LedgerUnavailableError);
    expect(error.reason).toBe('busy');
    unlock();
    expect(await ledger.tasks.list()).toEqual([]);
    expect(await ledger.tasks.ensure('patient')).toMatchObject({ taskId: 'patient' });
    await ledger.close();
  }, 20_000);
});
