import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { postgresServer, processIsAlive, requirement, testHome } from '@holdfast/testbeds';
import { Client } from 'pg';
import { Backend } from '../fixtures/backend-driver.ts';
import { touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const describeWithPostgres = requirement('postgres') ? describe : describe.skip;

describeWithPostgres('hosts of two homes that share a lock', () => {
  it(
    'exclude each other; one that loses the lock stops acting, and its agents live on [OWNERSHIP-002.4]',
    async () => {
      await using here = await testHome('shared-here');
      await using there = await testHome('shared-there');
      await using postgres = await postgresServer(here);
      const sharedLock = postgres.url;
      await using first = await Backend.ready(here, { sharedLock });
      await expect(Backend.ready(there, { sharedLock })).rejects.toMatchObject({
        code: 'shared_lock_held',
        facts: { holder: { pid: first.pid } },
      });
      const { agentPid } = await first.create(here, 'one');
      const turnId = await first.prompt(
        'one',
        script({ step: 'waitFor', file: here.path('go') }, { step: 'say', text: 'unheard' }),
      );
      const outcome = first.do('outcome', turnId).catch((error: unknown) => error);

      await cutLock(postgres.url);
      const lost = await first.waitForPublished('lock.lost');
      expect(lost).toMatchObject({ place: `postgres://127.0.0.1:${String(postgres.port)}/postgres` });
      expect(await outcome).toMatchObject({ code: 'shared_lock_lost' });
      await first.waitForPublished('ownership.detached');
      expect(await first.do('lost', undefined)).toBe(true);
      await expect(first.prompt('one', 'more')).rejects.toMatchObject({ code: 'shared_lock_lost' });
      await expect(first.create(here, 'two')).rejects.toMatchObject({ code: 'shared_lock_lost' });
      await expect(first.do('stop', 'one')).rejects.toMatchObject({ code: 'shared_lock_lost' });

      // The lock is free for the other, and closing stops nothing that may be another's by now.
      {
        await using second = await Backend.ready(there, { sharedLock });
        await second.close('stop');
      }
      await touch(here.path('go'));
      await first.close('stop');
      expect(processIsAlive(agentPid ?? 0)).toBe(true);
      expect(first.output()).not.toContain(postgres.password);

      await using third = await Backend.ready(here, { sharedLock });
      expect((await third.instance('one')).agentPid).toBe(agentPid);
      expect(await third.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
      await third.close('stop');
    },
    LONG_MS,
  );

  it(
    'stop no agent that may be another’s by now, not even one that is closed when it hears of the loss',
    async () => {
      await using home = await testHome('closed-when-lost');
      await using postgres = await postgresServer(home);
      const sharedLock = postgres.url;
      let agentPid: number | null;
      let turnId: string;
      {
        await using first = await Backend.ready(home, { sharedLock, stopWhenLost: true });
        ({ agentPid } = await first.create(home, 'one'));
        turnId = await first.prompt('one', script({ step: 'waitFor', file: home.path('go') }));
        await cutLock(postgres.url);
        expect(await first.ended()).toMatchObject({ exitCode: 0 });
      }
      expect(processIsAlive(agentPid ?? 0)).toBe(true);
      await using second = await Backend.ready(home, { sharedLock });
      expect((await second.instance('one')).agentPid).toBe(agentPid);
      await touch(home.path('go'));
      expect(await second.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
      await second.close('stop');
    },
    LONG_MS,
  );
});

async function cutLock(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'`);
  await client.end();
}
