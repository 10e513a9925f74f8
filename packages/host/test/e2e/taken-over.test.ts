import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { processIsAlive, testHome, until, type TestHome } from '@holdfast/testbeds';
import { openLedger, type ExecutionRecord, type SessionRecord, type TurnRecord } from '@holdfast/turn-ledger';
import { Backend } from '../fixtures/backend-driver.ts';
import { takeOver, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

describe('a backend whose control server another one has adopted', () => {
  it(
    'drops its executions at once, says so, and does nothing more with them [OWNERSHIP-002.3]',
    async () => {
      await using home = await testHome('superseded');
      await using backend = await Backend.ready(home);
      const { instanceId, agentPid } = await backend.create(home, 'one');
      await backend.create(home, 'two');
      const turnId = await backend.prompt(
        'one',
        script(
          { step: 'chunks', count: 5 },
          { step: 'waitFor', file: home.path('go') },
          { step: 'chunks', count: 5 },
        ),
      );
      await backend.events('one', 6);
      const outcome = backend.do('outcome', turnId).catch((error: unknown) => error);

      const other = await takeOver(home);
      // The closed streams tell it: the next renewal would be minutes away.
      await until(() => backend.published().filter(({ name }) => name === 'session.ended').length === 2, {
        reason: 'both sessions to be given up',
        withinMs: 60_000,
      });
      expect(backend.published().filter(({ name }) => name === 'ownership.lost')).toMatchObject([
        { scope: 'standalone', code: 'credential_superseded' },
      ]);
      expect(backend.published().filter(({ name }) => name === 'session.ended')).toEqual([
        { name: 'session.ended', sessionId: expect.any(String), why: 'superseded' },
        { name: 'session.ended', sessionId: expect.any(String), why: 'superseded' },
      ]);
      expect(await outcome).toMatchObject({ code: 'session_taken_over', facts: { sessionId: 'one' } });
      const before = await ledgerOf(home);

      // What the agent does now is the other backend's to know.
      await touch(home.path('go'));
      await until(async () => (await other.call('getTurn', { instanceId })).retained.length === 1, {
        reason: 'the turn to end',
        withinMs: 60_000,
      });
      for (const sessionId of ['one', 'two']) {
        await expect(backend.prompt(sessionId, 'still mine?')).rejects.toMatchObject({
          code: 'session_taken_over',
          facts: { sessionId, cause: { code: 'ownership_lost' } },
        });
        await expect(backend.do('stop', sessionId)).rejects.toMatchObject({ code: 'session_taken_over' });
        await expect(backend.do('cancel', sessionId)).rejects.toMatchObject({ code: 'session_taken_over' });
      }
      await expect(backend.do('outcome', turnId)).rejects.toMatchObject({ code: 'session_taken_over' });
      expect(await ledgerOf(home)).toEqual(before);
      // Not even a new session brings a new credential.
      await expect(backend.create(home, 'three')).rejects.toMatchObject({ code: 'ownership_lost' });
      expect((await other.call('listInstances', {})).instances).toHaveLength(2);

      await backend.close('stop');
      expect(processIsAlive(agentPid ?? 0)).toBe(true);
      expect((await other.call('getInstance', { instanceId })).agentPid).toBe(agentPid);
      await other.call('shutdown', {});
      await until(() => backend.serverPid(home) === undefined, {
        reason: 'the server to end',
        withinMs: 60_000,
      });
    },
    LONG_MS,
  );
});

/** What the ledger has of the first two sessions. */
async function ledgerOf(home: TestHome): Promise<
  ReadonlyArray<{
    readonly session: SessionRecord | null;
    readonly turns: readonly TurnRecord[];
    readonly events: number;
    readonly rows: readonly ExecutionRecord[];
  }>
> {
  await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
  const rows = await ledger.executionRecords.listLive();
  return await Promise.all(
    ['one', 'two'].map(async (sessionId) => ({
      session: await ledger.sessions.get(sessionId),
      turns: await ledger.turns.list(sessionId),
      events: (await ledger.events.read(sessionId, { after: 0, limit: 1000 })).length,
      rows: rows.filter((row) => row.sessionId === sessionId),
    })),
  );
}
