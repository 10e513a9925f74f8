import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type Clock } from '@holdfast/recovery';
import {
  freePort,
  postgresServer,
  requirement,
  runProgram,
  startProgram,
  testHome,
  until,
  type PostgresServer,
  type StartedProgram,
  type TestHome,
} from '@holdfast/testbeds';
import { Client } from 'pg';
import { acquirePostgresLock } from '../src/startup/postgres-lock.ts';
import { isPostgresUrl, postgresPlace, withoutSecrets } from '@holdfast/turn-ledger/postgres-url';
import { postgresProxy } from './fixtures/postgres-proxy.ts';
import { holderName, holderNamed, sharedLockKey, type SharedLock } from '../src/startup/shared-lock.ts';

const WITHIN_MS = 60_000;
const HOLDER = fileURLToPath(new URL('fixtures/postgres-lock-holder.ts', import.meta.url));
const describeWithPostgres = requirement('postgres') ? describe : describe.skip;

describeWithPostgres('the shared lock in PostgreSQL', () => {
  let home: TestHome;
  let server: PostgresServer;

  beforeAll(async () => {
    home = await testHome('shared-lock');
    server = await postgresServer(home);
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  async function acquire(options: { url?: string; name?: string; clock?: Clock } = {}): Promise<SharedLock> {
    const { url = server.url, name = 'ledger', clock = systemClock } = options;
    return await acquirePostgresLock({ url, name, clock, signal: new AbortController().signal });
  }

  async function holderProcess(url = server.url): Promise<StartedProgram> {
    const command = [process.execPath, '--conditions=@holdfast/source', HOLDER];
    return await startProgram(command, { env: { NODE_OPTIONS: undefined, LOCK_URL: url } });
  }

  async function query(sql: string): Promise<unknown[]> {
    const client = new Client({ connectionString: server.url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  it('keeps a second holder out and names the first, whatever machine it is on [OWNERSHIP-002.4]', async () => {
    await using holder = await holderProcess();
    await holder.nextLine('held', { withinMs: WITHIN_MS });
    const refusal = await acquire().catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'shared_lock_held',
      place: `postgres://127.0.0.1:${String(server.port)}/postgres`,
      holder: { pid: holder.pid, host: hostname(), since: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(String(refusal)).toContain(`is held by process ${String(holder.pid)} on ${hostname()}, since 2`);
    expect(String(refusal)).not.toContain(server.password);
    // Another name is another lock, and the refused attempt has left nothing behind.
    await (await acquire({ name: 'other' })).release();
    await expect(acquire()).rejects.toMatchObject({ holder: { pid: holder.pid } });
    expect(await query(`select pid from pg_locks where locktype = 'advisory'`)).toHaveLength(1);
  });

  it('is free for the next as soon as its holder is killed', async () => {
    await using holder = await holderProcess();
    await holder.nextLine('held', { withinMs: WITHIN_MS });
    holder.kill('SIGKILL');
    await holder.exited;
    // One attempt: it has the patience that the server needs to notice.
    const lock = await acquire();
    expect(lock.lost.aborted).toBe(false);
    await lock.release();
    expect(lock.lost.aborted).toBe(false);
  });

  it('waits a moment for a holder that is on its way out', async () => {
    const holder = await acquire();
    let refusals = 0;
    const lock = await acquire({
      clock: {
        ...systemClock,
        after: (delayMs, action) => {
          refusals += 1;
          if (refusals > 1) return systemClock.after(delayMs, action);
          void holder.release().then(action);
          return () => undefined;
        },
      },
    });
    expect(refusals).toBeGreaterThan(0);
    await lock.release();
  });

  it('goes to exactly one of those who want it at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const attempts = await Promise.allSettled([acquire(), acquire(), acquire(), acquire()]);
      const won = attempts.filter((attempt) => attempt.status === 'fulfilled');
      expect({ round, won: won.length }).toEqual({ round, won: 1 });
      for (const { value } of won) await value.release();
    }
  });

  it('is told as lost when its connection is cut, and does not end the process', async () => {
    await using holder = await holderProcess();
    await holder.nextLine('held', { withinMs: WITHIN_MS });
    await query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`);
    const lost = await holder.nextLine('lost', { withinMs: WITHIN_MS });
    expect(lost).toContain('terminating connection due to administrator command');
    expect(lost).toContain('this host acts no more, close it and start another');
    expect(holder.kill('SIGTERM')).toBe(true); // it lived on
    await (await acquire()).release();
  });

  it('is told as lost when the connection is dead without a word', async () => {
    await using between = await postgresProxy(server.port);
    const clock = steppedClock();
    const lock = await acquire({ url: through(between), clock });
    clock.step();
    await until(() => clock.isArmed(), { reason: 'a look at a lock that is held', withinMs: WITHIN_MS });
    expect(lock.lost.aborted).toBe(false);
    between.silence();
    clock.step();
    await until(() => lock.lost.aborted, { reason: 'the loss to be told', withinMs: WITHIN_MS });
    expect(lock.lost.reason).toMatchObject({ code: 'shared_lock_lost', place: lock.place });
    expect(clock.isArmed()).toBe(false);
    await lock.release();
  });

  it('is told as lost when the server knows nothing of it any more', async () => {
    await using between = await postgresProxy(server.port);
    const clock = steppedClock();
    const lock = await acquire({ url: through(between), clock });
    // As with a pooler, which cleans the session up and gives it to another client.
    await between.inject('select pg_advisory_unlock_all()');
    clock.step();
    await until(() => lock.lost.aborted, { reason: 'the loss to be told', withinMs: WITHIN_MS });
    expect(String(lock.lost.reason)).toContain('the server knows nothing of it any more');
    await lock.release();
  });

  it('is not lost by being released', async () => {
    const clock = steppedClock();
    const lock = await acquire({ clock });
    await lock.release();
    expect(clock.isArmed()).toBe(false);
    expect(lock.lost.aborted).toBe(false);
  });

  function through(between: { readonly port: number }): string {
    return server.url.replace(`:${String(server.port)}/`, `:${String(between.port)}/`);
  }

  it('cannot be taken where nobody answers, the password is wrong or the driver is missing, and says which', async () => {
    const port = await freePort();
    const failures = [
      [`postgres://u:hidden-word@127.0.0.1:${String(port)}/db`, `cannot be taken: connect ECONNREFUSED`],
      [server.url.replace(server.password, 'hidden-word'), 'password authentication failed'],
      [`${server.url}-none`, 'database "postgres-none" does not exist'],
    ] as const;
    for (const [url, why] of failures) {
      const error = await acquire({ url }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'shared_lock_unavailable', message: expect.stringContaining(why) });
      expect(String(error)).not.toContain('hidden-word');
    }
    const withoutDriver = `
      import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (name === 'pg') throw Object.assign(new Error('Cannot find package pg'), { code: 'ERR_MODULE_NOT_FOUND' });
        return next(name, context);
      } });`;
    const command = [
      process.execPath,
      '--conditions=@holdfast/source',
      `--import=data:text/javascript,${encodeURIComponent(withoutDriver)}`,
      HOLDER,
    ];
    const env = { NODE_OPTIONS: undefined, LOCK_URL: server.url };
    const { stdout } = await runProgram(command, { timeoutMs: WITHIN_MS, env });
    expect(stdout).toContain('"refused":"shared_lock_unavailable"');
    expect(stdout).toContain('the package pg is not installed; add it to your application');
  });

  it('goes when its server crashes', async () => {
    const lock = await acquire();
    await server.crash();
    await until(() => lock.lost.aborted, { reason: 'the loss to be told', withinMs: WITHIN_MS });
    await lock.release();
    await expect(acquire()).rejects.toMatchObject({ code: 'shared_lock_unavailable' });
  });
});

/** A clock whose background timer runs when the test says so. */
function steppedClock(): Clock & { step(): void; isArmed(): boolean } {
  let due: (() => void) | undefined;
  return {
    ...systemClock,
    inBackground(_delayMs, action) {
      due = action;
      return () => {
        due = undefined;
      };
    },
    step() {
      const action = due;
      due = undefined;
      action?.();
    },
    isArmed: () => due !== undefined,
  };
}

describe('the name of a shared lock', () => {
  it('gives the same number on every machine, a signed 64-bit one', () => {
    expect(sharedLockKey('ledger')).toBe(sharedLockKey('ledger'));
    expect(sharedLockKey('ledger')).not.toBe(sharedLockKey('ledger2'));
    expect(BigInt.asIntN(64, sharedLockKey('ledger'))).toBe(sharedLockKey('ledger'));
    expect(String(sharedLockKey('ledger'))).toMatchInlineSnapshot(`"8664575005986978456"`);
  });

  it('comes with a holder’s name that fits and can be read back', () => {
    const since = new Date('2026-01-02T03:04:05Z');
    expect(holderNamed(holderName(42, 'a-host'), since)).toEqual({
      pid: 42,
      host: 'a-host',
      since: '2026-01-02T03:04:05.000Z',
    });
    expect(holderName(4_194_304, 'h'.repeat(200)).length).toBeLessThanOrEqual(63);
    expect(holderNamed('psql', since)).toBeNull();
    expect(holderNamed(null, null)).toBeNull();
    expect(holderNamed('holdfast 7@b', null)).toEqual({ pid: 7, host: 'b', since: null });
  });
});

describe('an address with secrets', () => {
  it('is shown without them', () => {
    expect(postgresPlace('postgres://user:word@db.example:5433/main?password=word')).toBe(
      'postgres://db.example:5433/main',
    );
    expect(postgresPlace('postgres:///main?host=/run/postgresql')).toBe('postgres:///run/postgresql/main');
    expect(withoutSecrets('postgres://user:w/o@rd@db/main?password=word')).toBe('postgres://…@db/main?…');
    expect(withoutSecrets('mysql://db')).toBe('mysql://db');
  });

  it('is recognised', () => {
    expect(isPostgresUrl('postgres://db/main')).toBe(true);
    expect(isPostgresUrl('postgresql://u:p@db/main')).toBe(true);
    for (const other of ['postgres:', 'postgres://', 'mysql://db', 'db', '']) {
      expect(isPostgresUrl(other)).toBe(false);
    }
  });
});
