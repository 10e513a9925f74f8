import { chmod, open, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError, LedgerUrlError, openLedger, type Ledger } from '@holdfast/turn-ledger';
import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
import { runProgram, testHome, until } from '@holdfast/testbeds';
import { openSqlite } from '../../src/database/sqlite/open-sqlite.ts';
import { aSession, rejection } from '../recorded-session.ts';

const { DatabaseSync } = loadNodeSqlite();

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
    ['mysql://user:secret@db/ledger', /has the scheme "mysql:"/],
    ['postgres:user:secret', /has the scheme "postgres:", but is no URL of a database/],
    ['file:///var/lib/ledger.db', /has the scheme "file:"/],
    ['sqlite:ledger.db', /names a relative path/],
    ['ledger.db', /is a relative path/],
    ['', /is a relative path/],
    ['/var/lib/\0ledger.db', /NUL/],
  ])('refuses %j and names what is accepted', async (url, said) => {
    const error = await rejection(openLedger({ url }), LedgerUrlError);
    expect(error.message).toMatch(said);
    expect(error.message).toMatch(
      /an absolute file path, "sqlite:" and an absolute file path, ":memory:", or "postgres:\/\/" with a host and a database/,
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
      timeoutMs: 60_000,
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
});

describe('a database whose files are taken away while it is open', () => {
  const FILES = { 'its file': '', 'its write-ahead log': '-wal' } as const;

  it.each(Object.entries(FILES))(
    'says so when %s was moved, stores nothing, and goes on when it is back',
    async (_what, suffix) => {
      await using home = await testHome('gone');
      const path = home.path('ledger.db');
      const file = `${path}${suffix}`;
      await using ledger = await openLedger({ url: path });
      await ledger.tasks.ensure('before');
      await rename(file, home.path('elsewhere'));
      const error = await rejection(ledger.tasks.ensure('lost'), LedgerUnavailableError);
      expect(error).toMatchObject({ code: 'ledger_unavailable', reason: 'file_gone', path });
      expect(error.message).toContain(`(file_gone, ${file}): it was removed or replaced`);
      await rename(home.path('elsewhere'), file);
      expect((await ledger.tasks.list()).map(({ taskId }) => taskId)).toEqual(['before']);
      await ledger.tasks.ensure('after');
    },
  );

  it.each(Object.entries(FILES))('takes no other file for %s', async (_what, suffix) => {
    await using home = await testHome('gone');
    const path = home.path('ledger.db');
    await using ledger = await openLedger({ url: path });
    await rm(`${path}${suffix}`);
    await writeFile(`${path}${suffix}`, '');
    // It looks as closely as that once in a second.
    await until(
      async () =>
        await ledger.tasks.ensure('lost').then(
          () => false,
          (error: unknown) => error instanceof LedgerUnavailableError && error.reason === 'file_gone',
        ),
      { reason: 'the ledger to notice', withinMs: 60_000 },
    );
    await expect(ledger.tasks.ensure('lost')).rejects.toMatchObject({ reason: 'file_gone' });
  });

  it('is found behind a symbolic link', async () => {
    await using home = await testHome('gone');
    await home.folder('data');
    await symlink(home.path('data', 'ledger.db'), home.path('link.db'));
    await using ledger = await openLedger({ url: home.path('link.db') });
    await ledger.tasks.ensure('t');
    await rm(home.path('data', 'ledger.db-wal'));
    expect((await rejection(ledger.tasks.ensure('lost'), LedgerUnavailableError)).reason).toBe('file_gone');
  });
});

describe('a database that is damaged', () => {
  it.each([
    ['its schema is overwritten', 100, 3_000],
    ['all but its first page is overwritten', 4096, undefined],
  ])('is refused as corrupt when %s', async (_what, from, length) => {
    await using home = await testHome('damaged');
    const path = home.path('ledger.db');
    {
      await using ledger = await openLedger({ url: path });
      for (let index = 0; index < 100; index += 1) await ledger.tasks.ensure(`t${String(index)}`);
    }
    const { size } = await stat(path);
    {
      await using file = await open(path, 'r+');
      const rubbish = Buffer.alloc(length ?? size - from, 0xa5);
      await file.write(rubbish, 0, rubbish.length, from);
    }
    const error = await rejection(openLedger({ url: path }), LedgerUnavailableError);
    expect(error).toMatchObject({ reason: 'corrupt', path });
    expect((await stat(path)).size).toBe(size);
  });

  it('is refused as corrupt when its end is missing', async () => {
    await using home = await testHome('damaged');
    const path = home.path('ledger.db');
    await (await openLedger({ url: path })).close();
    const { size } = await stat(path);
    await truncate(path, size / 2);
    expect((await rejection(openLedger({ url: path }), LedgerUnavailableError)).reason).toBe('corrupt');
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
  });
});
