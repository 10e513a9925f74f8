import { describe, expect, it } from '@jest/globals';
import {
  LedgerInputError,
  openLedger,
  SessionAlreadyLiveError,
  UnknownSessionError,
  type ExecutionRecords,
  type SessionMode,
} from '@holdfast/turn-ledger';
import { anExecution, aSession, recordLiveSession, rejection } from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  describe('the recovery inventory', () => {
    it('gives the live rows as they were recorded, with the mode of their session', async () => {
      let now = 0;
      await using ledger = await openLedger({ url: await database.fresh(), clock: () => (now += 1) });
      await ledger.sessions.create(aSession('z'));
      await ledger.sessions.create(aSession('a', { mode: 'passthrough' }));
      const first = anExecution('z', {
        scope: 'docker:abc',
        containerId: 'abc',
        metadata: { office: 'x\0' },
      });
      const second = anExecution('a');
      await ledger.executionWriter.insert(first);
      await ledger.executionWriter.insert(second);
      expect(await ledger.executionRecords.listLive()).toEqual([
        { ...first, agentProcess: null, sessionMode: 'managed' },
        { ...second, agentProcess: null, sessionMode: 'passthrough' },
      ]);
    });

    it('is handed to recovery without its writer [CONTRACT-04]', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      const port: ExecutionRecords = ledger.executionRecords;
      expect(Object.keys(port)).toEqual(['listLive']);
      expect(Object.keys(ledger.executionWriter)).not.toContain('listLive');
      expect((await port.listLive()).map((record) => record.executionId)).toEqual(['s']);
    });

    it.each([
      ['unknown', "update sessions set mode = 'somehow'"],
      ['gone with its session', 'delete from sessions'],
    ])('gives no mode when it is %s, and the row all the same', async (_what, damage) => {
      const url = await database.fresh();
      await using ledger = await openLedger({ url });
      await recordLiveSession(ledger, 's');
      await database.damage(url, damage);
      const [record] = await ledger.executionRecords.listLive();
      expect(record).toEqual({
        ...anExecution('s'),
        agentProcess: null,
        sessionMode: null satisfies SessionMode | null,
      });
    });

    it.each(['{broken', '[]', 'null', ''])(
      'gives no metadata when it is %j, and this row and all others the same',
      async (metadata) => {
        const url = await database.fresh();
        let now = 0;
        await using ledger = await openLedger({ url, clock: () => (now += 1) });
        await recordLiveSession(ledger, 's');
        await recordLiveSession(ledger, 'other');
        await database.damage(url, `update executions set metadata = '${metadata}' where session_id = 's'`);
        expect(await ledger.executionRecords.listLive()).toEqual([
          { ...anExecution('s'), metadata: null, agentProcess: null, sessionMode: 'managed' },
          { ...anExecution('other'), agentProcess: null, sessionMode: 'managed' },
        ]);
      },
    );
  });

  describe('the evidence of a row', () => {
    const agentProcess = { pid: 4711, startTime: 'boot-1 815' };

    it('names the process of its agent once that is recorded, until it is started again or the row ends', async () => {
      await using ledger = await openLedger({ url: ':memory:' });
      await recordLiveSession(ledger, 's');
      const recorded = async (): Promise<unknown> =>
        (await ledger.executionRecords.listLive()).map((record) => record.agentProcess);
      expect(await ledger.executionWriter.setAgentProcess('s', agentProcess)).toBe(true);
      expect(await recorded()).toEqual([agentProcess]);
      expect(await ledger.executionWriter.setAgentProcess('s', null)).toBe(true);
      expect(await recorded()).toEqual([null]);
      await ledger.executionWriter.end('s', 'stopped');
      expect(await ledger.executionWriter.setAgentProcess('s', agentProcess)).toBe(false);
      expect(await ledger.executionWriter.setAgentProcess('unknown', null)).toBe(false);
    });

    it('is a process: a pid and a start time', async () => {
      await using ledger = await openLedger({ url: ':memory:' });
      await recordLiveSession(ledger, 's');
      for (const given of [
        { ...agentProcess, pid: 0 },
        { ...agentProcess, pid: 1.5 },
        { pid: 1, startTime: '' },
      ]) {
        const error = await rejection(ledger.executionWriter.setAgentProcess('s', given), LedgerInputError);
        expect(error.message).toContain('agent process');
      }
    });

    it('is told for one session alone where that is asked', async () => {
      await using ledger = await openLedger({ url: ':memory:' });
      for (const name of ['one', 'two']) await recordLiveSession(ledger, name);
      const listed = await ledger.executionRecords.listLive({ sessionId: 'two' });
      expect(listed.map((record) => record.executionId)).toEqual(['two']);
      expect(await ledger.executionRecords.listLive({ sessionId: 'three' })).toEqual([]);
    });

    it('is missing in rows that were written before there was any', async () => {
      const url = await database.fresh();
      {
        await using ledger = await openLedger({ url });
        await recordLiveSession(ledger, 's');
      }
      for (const column of ['server_id', 'agent_pid', 'agent_start_time'])
        await database.query(url, `alter table executions drop column ${column}`);
      for (const column of ['task_environment_id', 'choices'])
        await database.query(url, `alter table sessions drop column ${column}`);
      await database.query(url, "delete from ledger_migrations where name >= '0003-add-execution-evidence'");
      await using ledger = await openLedger({ url });
      expect(await ledger.executionRecords.listLive()).toEqual([
        { ...anExecution('s'), serverId: null, agentProcess: null, sessionMode: 'managed' },
      ]);
      expect(await ledger.executionWriter.setAgentProcess('s', agentProcess)).toBe(true);
    });
  });

  describe('an execution', () => {
    it('is the only live one of its session', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      const another = anExecution('another', { sessionId: 's' });
      const error = await rejection(ledger.executionWriter.insert(another), SessionAlreadyLiveError);
      expect(error).toMatchObject({ code: 'session_already_live', sessionId: 's', liveExecutionId: 's' });
      await ledger.executionWriter.end('s', 'stopped');
      await ledger.executionWriter.insert(another);
      expect((await ledger.executionRecords.listLive()).map((record) => record.executionId)).toEqual([
        'another',
      ]);
    });

    it('is live once of fifty launches at once', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await ledger.sessions.create(aSession('s'));
      const launches = await Promise.allSettled(
        Array.from({ length: 50 }, async (_, index) => {
          await ledger.executionWriter.insert(anExecution(`e${String(index)}`, { sessionId: 's' }));
        }),
      );
      expect(launches.filter((launch) => launch.status === 'fulfilled')).toHaveLength(1);
      expect(await ledger.executionRecords.listLive()).toHaveLength(1);
    });

    it('claims no process once it has ended; resume token and workspace stay', async () => {
      const url = await database.fresh();
      await using ledger = await openLedger({ url, clock: () => 5_000 });
      await recordLiveSession(ledger, 's');
      await ledger.sessions.setProviderSession('s', 'ses_1');
      expect(await ledger.executionWriter.end('s', 'stopped')).toBe(true);
      expect(await ledger.executionWriter.end('s', 'again')).toBe(false);
      expect(await ledger.executionWriter.end('unknown', 'stopped')).toBe(false);
      expect(await ledger.executionRecords.listLive()).toEqual([]);
      expect(await ledger.sessions.get('s')).toMatchObject({
        providerSessionId: 'ses_1',
        workspacePath: '/src/tree',
      });
      const [row] = await database.query(
        url,
        'select live, end_reason, ended_at, workspace_path from executions',
      );
      expect(row).toEqual({
        live: 0,
        end_reason: 'stopped',
        ended_at: 5_000,
        workspace_path: '/src/tree',
      });
    });

    it('is repaired where its row is stale', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 'gone');
      await recordLiveSession(ledger, 'alive');
      await recordLiveSession(ledger, 'ended');
      await ledger.executionWriter.end('ended', 'stopped');
      expect(await ledger.executionWriter.repair(['gone', 'ended', 'unknown'])).toEqual(['gone']);
      expect(await ledger.executionWriter.repair(['gone'])).toEqual([]);
      expect(await ledger.executionWriter.repair([])).toEqual([]);
      expect((await ledger.executionRecords.listLive()).map((record) => record.executionId)).toEqual([
        'alive',
      ]);
    });

    it('needs its session, and a scope that is one', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await rejection(ledger.executionWriter.insert(anExecution('s')), UnknownSessionError);
      const error = await rejection(
        ledger.executionWriter.insert(anExecution('s', { scope: 'moon' })),
        LedgerInputError,
      );
      expect(error.message).toMatch(/scope must be a control-server scope/);
    });
  });
});
