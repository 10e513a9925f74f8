import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { freePort, garbageServer, runProgram, until } from '@holdfast/testbeds';
import {
  LedgerInputError,
  LedgerUnavailableError,
  LedgerUrlError,
  openLedger,
  type Ledger,
} from '@holdfast/turn-ledger';
import { Client } from 'pg';
import { hasPostgres, postgresDatabase } from '../each-database.ts';
import { aTurn, AT, COMPLETED, numbered, recordLiveSession, rejection, said } from '../recorded-session.ts';

const APPLY = {
  executionId: 's',
  promptGeneration: 1,
  controlTurnId: 'c1',
  outcome: COMPLETED,
  endedAt: AT,
} as const;

(hasPostgres ? describe : describe.skip)('a ledger in PostgreSQL', () => {
  const database = postgresDatabase();

  async function connected(url: string): Promise<Client> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client;
  }

  async function openWithTurn(
    url: string,
    with_: Partial<Parameters<typeof openLedger>[0]> = {},
  ): Promise<Ledger> {
    const ledger = await openLedger({ url, ...with_ });
    await recordLiveSession(ledger, 's');
    await ledger.turns.begin(aTurn('s', 1));
    return ledger;
  }

  function schemaOf(url: string): string {
    return /search_path(?:=|%3D)(\w+)/i.exec(url)?.[1] ?? 'public';
  }

  /** The url with some part changed. */
  function changed(change: (url: URL) => void): string {
    const url = new URL(database.server.url);
    change(url);
    return url.href;
  }

  it('is in a database of its own, under both names of the scheme', async () => {
    await database.query(database.server.url, 'create database own');
    const url = changed((at) => (at.pathname = '/own'));
    {
      await using ledger = await openLedger({ url });
      await ledger.tasks.ensure('t');
    }
    await using ledger = await openLedger({ url: url.replace('postgres:', 'postgresql:') });
    expect(await ledger.tasks.list()).toMatchObject([{ taskId: 't' }]);
  });

  it.each([
    ['a wrong password', 'access_denied', (url: URL) => (url.password = 'wrong-and-secret')],
    ['an unknown user', 'access_denied', (url: URL) => (url.username = 'nobody')],
    // Where a URL names none, it is that of the user's name.
    [
      'no database of its own',
      'cannot_open',
      (url: URL) => {
        url.pathname = '/';
      },
    ],
    ['an unknown database', 'cannot_open', (url: URL) => (url.pathname = '/nowhere')],
    [
      'a schema that does not exist',
      'cannot_open',
      (url: URL) => (url.search = '?options=-c%20search_path%3Dnowhere'),
    ],
    [
      'a server that takes no writes',
      'cannot_write',
      (url: URL) => (url.search = '?options=-c%20default_transaction_read_only%3Don'),
    ],
  ])('says what is wrong with %s: %s, and tells no secret', async (_what, reason, change) => {
    const url = changed(change);
    const error = await rejection(openLedger({ url }), LedgerUnavailableError);
    const place = `postgres://127.0.0.1:${String(database.server.port)}${new URL(url).pathname}`;
    expect(error).toMatchObject({ code: 'ledger_unavailable', reason, path: place, mayBeStored: false });
    expect(error.message).toContain(place);
    const told = inspect(error, { depth: 20, showHidden: true });
    expect(told).not.toContain(new URL(url).password);
    expect(error.message).not.toContain(new URL(url).username);
  });

  it('says that nobody listens', async () => {
    const port = await freePort();
    const url = changed((at) => (at.port = String(port)));
    const error = await rejection(openLedger({ url }), LedgerUnavailableError);
    expect(error.reason).toBe('cannot_connect');
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(database.server.password);
  });

  it('says that its user may not make tables', async () => {
    await database.query(database.server.url, `create role guest login password 'guest-secret'`);
    const url = changed((at) => {
      at.username = 'guest';
      at.password = 'guest-secret';
    });
    const denied = async (what: string): Promise<void> => {
      const error = await rejection(openLedger({ url }), LedgerUnavailableError);
      expect(error.reason).toBe('access_denied');
      expect(error.message).toContain(`(access_denied, ${what}): the server refuses this user`);
    };
    await denied('permission denied for schema public');
    await (await openLedger({ url: database.server.url })).close();
    await denied('permission denied for table ledger_migrations');
    await database.query(
      database.server.url,
      `grant select, insert, update, delete on all tables in schema public to guest;
      delete from ledger_migrations where name > '0005'`,
    );
    await denied('must be owner of table sessions');
    await database.query(
      database.server.url,
      'drop owned by guest; drop schema public cascade; create schema public',
    );
  });

  it('goes on once a transaction can begin again, on the same connection', async () => {
    const url = await database.fresh();
    await database.query(
      url,
      `create role app login password 'app-secret' noinherit; grant create, usage on schema ${schemaOf(url)} to app`,
    );
    const asApp = new URL(url);
    asApp.username = 'app';
    asApp.password = 'app-secret';
    await using ledger = await openLedger({ url: asApp.href, postgres: { poolSize: 1 } });
    const begins = 'execute on function txid_current() ';
    await database.query(url, `revoke ${begins} from public`);
    for (let times = 0; times < 2; times += 1) {
      const error = await rejection(ledger.tasks.ensure('t'), LedgerUnavailableError);
      expect(error.message).toContain('(access_denied, permission denied for function txid_current)');
    }
    await database.query(url, `grant ${begins} to public`);
    expect(await ledger.tasks.ensure('t')).toMatchObject({ taskId: 't' });
  });

  it('says that a database takes no connections', async () => {
    await database.query(database.server.url, 'create database closed allow_connections false');
    const error = await rejection(
      openLedger({ url: changed((at) => (at.pathname = '/closed')) }),
      LedgerUnavailableError,
    );
    expect(error.reason).toBe('cannot_connect');
    expect(error.message).toContain('database "closed" is not currently accepting connections');
  });

  it('says which parameter a pooler does not let through', async () => {
    const fields = 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0';
    const refusal = Buffer.alloc(5 + fields.length);
    refusal.write('E');
    refusal.writeInt32BE(4 + fields.length, 1);
    refusal.write(fields, 5);
    await using pooler = await garbageServer(refusal);
    const url = changed((at) => {
      at.port = String(pooler.port);
      at.search = '?options=-c%20search_path%3Dmine';
    });
    const error = await rejection(openLedger({ url }), LedgerUnavailableError);
    expect(error.reason).toBe('cannot_connect');
    expect(error.message).toContain(
      '(cannot_connect, unsupported startup parameter: options, which a pooler',
    );
  });

  it.each([
    'postgres:ledger',
    'postgres://',
    'postgres://u:secret@127.0.0.1/x?sslmode=verify-full&sslrootcert=/nowhere/secret.pem',
    'postgres://u:secret@127.0.0.1:99999/x',
  ])('refuses %j and repeats nothing of it', async (url) => {
    const error = await rejection(openLedger({ url }), LedgerUrlError);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('secret');
    expect(error.message).toContain('accepted are: an absolute file path');
  });

  it.each([{ poolSize: 0 }, { poolSize: 1.5 }, { connectTimeoutMs: -1 }])(
    'refuses the option %j',
    async (postgres) => {
      const error = await rejection(openLedger({ url: database.server.url, postgres }), LedgerInputError);
      expect(error.message).toContain(Object.keys(postgres)[0]);
    },
  );

  it('names the package that is missing, and needs it for nothing else', async () => {
    const open = async (url: string): Promise<string> => {
      const program = join(import.meta.dirname, '../fixtures/open-without-pg.ts');
      const command = [process.execPath, '--conditions=@holdfast/source', program, url];
      const { stdout } = await runProgram(command, { timeoutMs: 60_000, env: { NODE_OPTIONS: undefined } });
      return stdout;
    };
    expect(await open(':memory:')).toBe('opened 0\n');
    expect(await open(database.server.url)).toBe(
      'PgMissingError: A ledger in PostgreSQL needs the package pg, which is not installed; add it to your application.\n',
    );
  });

  it('commits to the disk also where the server would not', async () => {
    const url = await database.fresh();
    await using ledger = await openWithTurn(url, { postgres: { poolSize: 1 } });
    await database.query(
      url,
      `create function told() returns trigger language plpgsql as $$ begin
        raise exception 'commits %, reads %', current_setting('synchronous_commit'), current_setting('transaction_isolation');
      end $$;
      create trigger told before update on turns for each row execute function told()`,
    );
    // The server of the tests has it off.
    await expect(ledger.outcomes.apply(APPLY)).rejects.toThrow('commits local, reads read committed');
    // As a pooler does that lends another session.
    await database.query(
      url,
      `create function another() returns trigger language plpgsql as $$ begin
        perform set_config('synchronous_commit', 'off', false); return new;
      end $$;
      create trigger another before insert on tasks for each row execute function another()`,
    );
    await ledger.tasks.ensure('t');
    await expect(ledger.outcomes.apply(APPLY)).rejects.toThrow('commits local, reads read committed');
  });

  it('goes on where a pooler forgets the statements that its sessions keep', async () => {
    const url = await database.fresh();
    await using ledger = await openWithTurn(url, { postgres: { poolSize: 1 } });
    expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: true });
    // As a pooler does between two transactions, by its server_reset_query.
    await database.query(
      url,
      `create function forget() returns trigger language plpgsql as $$ begin
        if new.event_count = 1 then deallocate all; end if; return new;
      end $$;
      create trigger forget before update on sessions for each row execute function forget()`,
    );
    expect(await ledger.events.append('s', numbered(1, said('one')))).toMatchObject({ stored: 1 });
    for (const generation of [2, 3]) {
      await ledger.turns.begin(aTurn('s', generation));
      const outcome = { ...APPLY, promptGeneration: generation, controlTurnId: `c${String(generation)}` };
      expect(await ledger.outcomes.apply(outcome)).toMatchObject({ applied: true });
    }
  });

  it.each([
    ['XX000', 'io_error'],
    ['XX001', 'corrupt'],
    ['53100', 'disk_full'],
    ['58030', 'io_error'],
  ])('tells %s of the server as %s, and stores nothing', async (code, reason) => {
    const url = await database.fresh();
    await using ledger = await openWithTurn(url);
    await database.query(
      url,
      `create function failing() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '${code}';
      end $$;
      create trigger failing before update on tasks for each row execute function failing()`,
    );
    const error = await rejection(ledger.outcomes.apply(APPLY), LedgerUnavailableError);
    expect(error).toMatchObject({ reason, mayBeStored: false });
    expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'dispatching' });
  });

  it('applies an outcome once where the server isolates all transactions, in a time zone of its own [SURVIVAL-004.4]', async () => {
    const settings = '-c default_transaction_isolation=serializable -c timezone=Asia/Kathmandu';
    const url = `${await database.fresh()}${encodeURIComponent(` ${settings}`)}`;
    expect(await database.query(url, 'show transaction_isolation')).toEqual([
      { transaction_isolation: 'serializable' },
    ]);
    await using ledger = await openWithTurn(url);
    const applying = Array.from({ length: 50 }, async () => await ledger.outcomes.apply(APPLY));
    expect((await Promise.all(applying)).filter(({ applied }) => applied)).toHaveLength(1);
    expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'completed', endedAt: AT });
  });

  describe('with others at work', () => {
    it('goes on after the statement timeout of its server', async () => {
      const url = await database.fresh();
      await using ledger = await openWithTurn(`${url}${encodeURIComponent(' -c statement_timeout=300')}`);
      const other = await connected(url);
      await other.query('begin; lock table turns');
      const applying = ledger.outcomes.apply(APPLY);
      const waited = new Set<unknown>();
      await until(
        async () => {
          const locks = await database.query(
            url,
            'select virtualtransaction from pg_locks where not granted',
          );
          for (const { virtualtransaction } of locks) waited.add(virtualtransaction);
          return waited.size > 2;
        },
        { reason: 'the ledger to be timed out twice', withinMs: 60_000 },
      );
      await other.query('commit');
      await other.end();
      expect(await applying).toMatchObject({ applied: true });
    });

    it('waits so long for a connection of its pool, and says so', async () => {
      const url = await database.fresh();
      // Its first connection has to be made within that as well.
      await using ledger = await openWithTurn(url, { postgres: { poolSize: 1, connectTimeoutMs: 4000 } });
      const other = await connected(url);
      await other.query('begin; lock table turns');
      const waiting = ledger.outcomes.apply(APPLY);
      const error = await rejection(ledger.tasks.list(), LedgerUnavailableError);
      expect(error).toMatchObject({ reason: 'pool_exhausted', mayBeStored: false });
      expect(error.message).toContain('postgres.poolSize');
      await other.query('commit');
      await other.end();
      expect(await waiting).toMatchObject({ applied: true });
      expect(await ledger.tasks.list()).toHaveLength(1);
    });

    it('begins again when it was in a deadlock', async () => {
      const url = await database.fresh();
      // The ledger looks for a deadlock once, so long after it has begun to wait: there must be one by then.
      await using ledger = await openWithTurn(`${url}${encodeURIComponent(' -c deadlock_timeout=5s')}`);
      const other = await connected(url);
      // The other waits longer before it looks, so the ledger is the one that has to give way.
      await other.query(`set deadlock_timeout = '10min'; begin; update sessions set updated_at = updated_at`);
      const applying = ledger.outcomes.apply(APPLY);
      await waitingForLocks(1);
      const locking = other.query('update turns set created_at = created_at');
      await locking;
      await other.query('commit');
      await other.end();
      expect(await applying).toMatchObject({ applied: true });
    });

    it.each(['40001', '40P01'])('begins again after %s, and gives up after ten times', async (code) => {
      const url = await database.fresh();
      await using ledger = await openWithTurn(url);
      const failing = (
        times: number,
      ): string => `create sequence if not exists tries; select setval('tries', 1, false);
        create or replace function failing() returns trigger language plpgsql as $$ begin
          if nextval('tries') <= ${String(times)} then raise exception using errcode = '${code}'; end if;
          return new;
        end $$;
        create or replace trigger failing before update on tasks for each row execute function failing()`;
      await database.query(url, failing(1_000));
      const error = await rejection(ledger.outcomes.apply(APPLY), LedgerUnavailableError);
      expect(error).toMatchObject({ reason: 'busy', mayBeStored: false });
      expect(await database.query(url, 'select last_value from tries')).toEqual([{ last_value: 10 }]);
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'dispatching' });
      await database.query(url, failing(3));
      expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: true });
      expect(await database.query(url, 'select last_value from tries')).toEqual([{ last_value: 4 }]);
    });

    async function waitingForLocks(count: number): Promise<void> {
      await until(
        async () =>
          (await database.query(database.server.url, 'select pid from pg_locks where not granted')).length >=
          count,
        { reason: 'the ledger to wait for a lock', withinMs: 60_000 },
      );
    }
  });
});
