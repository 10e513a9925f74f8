import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Instance } from '@holdfast/control-protocol';
import { script } from '@holdfast/scripted-agent';
import {
  postgresServer,
  requirement,
  testHome,
  until,
  type PostgresServer,
  type TestHome,
} from '@holdfast/testbeds';
import { Client } from 'pg';
import { Backend, chunkTexts, numberedChunks } from '../fixtures/backend-driver.ts';
import { agentsIn, killedInMidTurn, serverOf, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const describeWithPostgres = requirement('postgres') ? describe : describe.skip;

describeWithPostgres('a host whose ledger is in PostgreSQL', () => {
  let home: TestHome;
  let postgres: PostgresServer;

  beforeEach(async () => {
    home = await testHome('postgres-ledger');
    postgres = await postgresServer(home);
  }, LONG_MS);

  afterEach(async () => {
    await postgres[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  }, LONG_MS);

  it(
    'goes on with its agents after it was killed in mid-turn, and applies each outcome once [SURVIVAL-001.2, SURVIVAL-004.6]',
    async () => {
      const ledger = postgres.url;
      const before = await killedInMidTurn(home, { ledger });
      await touch(home.path('go'));
      await until(() => existsSync(home.path('detached')), {
        reason: 'the agent to work while nobody is attached',
        withinMs: 60_000,
      });
      expect(existsSync(home.path('home', 'ledger.db'))).toBe(false);

      await using second = await Backend.ready(home, { ledger });
      expect((await second.waitForReady()).rows).toEqual([
        { sessionId: 'one', outcome: { kind: 'retracked' } },
      ]);
      expect(agentsIn(home.root)).toEqual([before.agentPid]);
      await touch(home.path('end'));
      expect(await second.do('outcome', before.turnId)).toEqual({
        kind: 'completed',
        stopReason: 'end_turn',
      });
      expect(chunkTexts(await second.allEvents('one'))).toEqual([
        ...numberedChunks(5),
        ...numberedChunks(30),
      ]);
      expect(outcomesOf(second, before.turnId)).toBe(1);
      await second.close('stop');
      expect(second.output()).not.toContain(postgres.password);
    },
    LONG_MS,
  );

  it(
    'has it alone: a host of another home is kept out without being told of a lock [OWNERSHIP-002.4]',
    async () => {
      await using there = await testHome('postgres-ledger-there');
      const ledger = postgres.url;
      await using first = await Backend.ready(home, { ledger });
      await expect(Backend.ready(there, { ledger })).rejects.toMatchObject({
        code: 'shared_lock_held',
        facts: { holder: { pid: first.pid } },
      });
      await first.close('stop');
    },
    LONG_MS,
  );

  it(
    'waits for it when it is away: agents work on, nothing is acknowledged, then everything is stored once [BEYOND-02, SURVIVAL-004.6]',
    async () => {
      await using backend = await Backend.ready(home, { ledger: postgres.url });
      const { instanceId } = await backend.create(home, 'one');
      const server = await serverOf(home, postgres.url);
      const turnId = await backend.prompt(
        'one',
        script(
          { step: 'chunks', count: 5 },
          { step: 'waitFor', file: home.path('go') },
          { step: 'chunks', count: 40, everyMs: 5 },
          { step: 'touch', file: home.path('written') },
        ),
      );
      await backend.events('one', 6);
      const outcome = backend.do('outcome', turnId);
      const journal = async (): Promise<Instance['journal']> =>
        (await server.call('getInstance', { instanceId })).journal;
      await until(async () => (await journal()).unacknowledged === 0, {
        reason: 'all events so far to be acknowledged',
        withinMs: 60_000,
      });
      const before = await journal();

      await postgres.crash();
      await touch(home.path('go'));
      await until(() => existsSync(home.path('written')), { reason: 'the agent to go on', withinMs: 60_000 });
      const told = await backend.waitForPublished('ledger.unavailable');
      expect(told).toMatchObject({ place: `postgres://127.0.0.1:${String(postgres.port)}/postgres` });
      await expect(backend.prompt('one', 'meanwhile')).rejects.toMatchObject({ code: 'ledger_unavailable' });
      await expect(backend.create(home, 'two')).rejects.toMatchObject({ code: 'ledger_unavailable' });
      const meanwhile = await journal();
      expect(meanwhile.nextSeq).toBeGreaterThanOrEqual(before.nextSeq + 40);
      expect(meanwhile.unacknowledged).toBe(meanwhile.nextSeq - before.nextSeq);
      expect((await server.call('getTurn', { instanceId })).retained).toHaveLength(1);
      expect(outcomesOf(backend, turnId)).toBe(0);

      await postgres.restart();
      expect(await outcome).toEqual({ kind: 'completed', stopReason: 'end_turn' });
      await backend.waitForPublished('ledger.available');
      const events = await backend.allEvents('one');
      await until(async () => (await journal()).unacknowledged === 0, {
        reason: 'everything to be acknowledged',
        withinMs: 60_000,
      });
      expect((await server.call('getTurn', { instanceId })).retained).toEqual([]);
      expect(chunkTexts(events)).toEqual([...numberedChunks(5), ...numberedChunks(40)]);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(outcomesOf(backend, turnId)).toBe(1);
      await backend.waitForPublished('lock.retaken');
      const further = await backend.prompt('one', 'back again?');
      expect(await backend.do('outcome', further)).toMatchObject({ kind: 'completed' });
      expect(backend.published().filter(({ name }) => name === 'ledger.unavailable')).toHaveLength(1);
      await backend.close('stop');
      expect(backend.output()).not.toContain(postgres.password);
    },
    LONG_MS,
  );

  it(
    'stands down when another has had the lock while its connection was broken [OWNERSHIP-002.4]',
    async () => {
      await using backend = await Backend.ready(home, { ledger: postgres.url });
      const { agentPid } = await backend.create(home, 'one');
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      // Another takes the lock in the very moment in which this one loses it, and lets it go again.
      await client.query('begin; update holdfast_lock_holders set epoch = epoch + 1');
      await client.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`);
      await backend.waitForPublished('lock.broken');
      await client.query('commit');
      await client.end();
      await backend.waitForPublished('lock.lost');
      await expect(backend.create(home, 'two')).rejects.toMatchObject({ code: 'shared_lock_lost' });
      await backend.close('stop');
      // It stopped nothing that may be another's; the next one does.
      await using next = await Backend.ready(home, { ledger: postgres.url });
      expect((await next.instance('one')).agentPid).toBe(agentPid);
      await next.close('stop');
    },
    LONG_MS,
  );
});

function outcomesOf(backend: Backend, turnId: string): number {
  return backend.published().filter((event) => event.name === 'turn.outcome' && event.turnId === turnId)
    .length;
}
