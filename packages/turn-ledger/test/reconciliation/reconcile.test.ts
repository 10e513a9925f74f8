import { describe, expect, it } from '@jest/globals';
import { openLedger, type Ledger, type SessionState } from '@holdfast/turn-ledger';
import { anExecution, aSession, aTurn, AT, COMPLETED, gone, recordLiveSession } from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  async function openWithRunning(...names: readonly string[]): Promise<Ledger> {
    const ledger = await openLedger({ url: await database.fresh(), clock: () => 1_000 });
    for (const name of names) {
      await recordLiveSession(ledger, name);
      await ledger.sessions.setProviderSession(name, `provider-${name}`);
      await ledger.turns.begin(aTurn(name, 1));
    }
    return ledger;
  }

  describe('reconciling sessions whose agents are gone', () => {
    it('makes everything about them true, and nothing about others', async () => {
      await using ledger = await openWithRunning('gone', 'alive');
      expect(await ledger.reconcile(gone('gone'))).toEqual([
        {
          sessionId: 'gone',
          wasActive: true,
          abandonedTurnIds: ['gone-1'],
          cancelledTurns: [],
          taskInterrupted: true,
          endedExecutionIds: ['gone'],
        },
      ]);
      expect(await ledger.sessions.get('gone')).toMatchObject({
        state: 'waiting_for_input',
        providerSessionId: 'provider-gone',
        workspacePath: '/src/tree',
      });
      expect(await ledger.turns.get('gone-1')).toMatchObject({ state: 'abandoned' });
      expect(await ledger.tasks.get('gone-task')).toMatchObject({ state: 'review', interrupted: true });
      expect((await ledger.executionRecords.listLive()).map((record) => record.executionId)).toEqual([
        'alive',
      ]);
      expect(await ledger.sessions.get('alive')).toMatchObject({ state: 'running' });
      expect(await ledger.turns.get('alive-1')).toMatchObject({ state: 'dispatching' });
      expect(await ledger.tasks.get('alive-task')).toMatchObject({
        state: 'in_progress',
        interrupted: false,
      });
    });

    it('cancels the turn that its host stopped, and leaves the task as it is', async () => {
      await using ledger = await openWithRunning('stopped');
      const outcome = { kind: 'cancelled', stopReason: 'agent_stopped' };
      const plan = { sessions: [{ sessionId: 'stopped', session: 'stop', repair: 'all' }] } as const;
      expect(await ledger.reconcile(plan)).toEqual([
        {
          sessionId: 'stopped',
          wasActive: true,
          abandonedTurnIds: [],
          cancelledTurns: [{ turnId: 'stopped-1', promptGeneration: 1, outcome }],
          taskInterrupted: false,
          endedExecutionIds: ['stopped'],
        },
      ]);
      expect(await ledger.turns.get('stopped-1')).toMatchObject({ state: 'cancelled', outcome });
      expect(await ledger.sessions.get('stopped')).toMatchObject({ state: 'waiting_for_input' });
      expect(await ledger.tasks.get('stopped-task')).toMatchObject({
        state: 'in_progress',
        interrupted: false,
      });
      expect(await ledger.reconcile(plan)).toMatchObject([
        { wasActive: false, cancelledTurns: [], endedExecutionIds: [] },
      ]);
    });

    it('leaves a session alone that another execution has come to run', async () => {
      await using ledger = await openWithRunning('s');
      const plan = {
        sessions: [{ sessionId: 's', executionId: 'earlier', session: 'reconcile', repair: ['earlier'] }],
      } as const;
      expect(await ledger.reconcile(plan)).toMatchObject([{ wasActive: false, endedExecutionIds: [] }]);
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'dispatching' });
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'running' });

      await ledger.executionWriter.end('s', 'gone');
      expect(await ledger.reconcile(plan)).toMatchObject([{ wasActive: true, abandonedTurnIds: ['s-1'] }]);
    });

    it('keeps a row whose process may live, and makes its session truthful all the same', async () => {
      await using ledger = await openWithRunning('kept');
      const plan = { sessions: [{ sessionId: 'kept', session: 'reconcile', repair: [] }] } as const;
      expect(await ledger.reconcile(plan)).toMatchObject([
        { wasActive: true, abandonedTurnIds: ['kept-1'], taskInterrupted: true, endedExecutionIds: [] },
      ]);
      expect((await ledger.executionRecords.listLive()).map((record) => record.executionId)).toEqual([
        'kept',
      ]);
      expect(await ledger.reconcile(plan)).toMatchObject([{ wasActive: false, endedExecutionIds: [] }]);
    });

    it('repairs the rows that are named and nothing else of a session that is left untouched', async () => {
      await using ledger = await openWithRunning('s', 'other');
      const plan = { sessions: [{ sessionId: 's', session: 'untouched', repair: ['s', 'other'] }] } as const;
      expect(await ledger.reconcile(plan)).toEqual([
        {
          sessionId: 's',
          wasActive: false,
          abandonedTurnIds: [],
          cancelledTurns: [],
          taskInterrupted: false,
          endedExecutionIds: ['s'],
        },
      ]);
      expect(await ledger.sessions.get('s')).toMatchObject({
        state: 'running',
        providerSessionId: 'provider-s',
      });
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'in_progress' });
      // A row of another session is not this one's to repair.
      expect((await ledger.executionRecords.listLive()).map((record) => record.executionId)).toEqual([
        'other',
      ]);
    });

    it('leaves a task in progress that a session works on which is left untouched', async () => {
      await using ledger = await openLedger({ url: ':memory:' });
      for (const name of ['gone', 'alive']) {
        await ledger.sessions.create(aSession(name, { taskId: 'shared' }));
        await ledger.executionWriter.insert(anExecution(name));
      }
      const [line] = await ledger.reconcile({
        sessions: [
          { sessionId: 'gone', session: 'reconcile', repair: 'all' },
          { sessionId: 'alive', session: 'untouched', repair: [] },
        ],
      });
      expect(line).toMatchObject({ taskInterrupted: false, endedExecutionIds: ['gone'] });
    });

    it('changes nothing the second time, nor where there is nothing', async () => {
      await using ledger = await openWithRunning('gone');
      await ledger.reconcile(gone('gone', 'gone'));
      const nothing = {
        wasActive: false,
        abandonedTurnIds: [],
        cancelledTurns: [],
        taskInterrupted: false,
        endedExecutionIds: [],
      };
      expect(await ledger.reconcile(gone('gone', 'unknown'))).toEqual([
        { sessionId: 'gone', ...nothing },
        { sessionId: 'unknown', ...nothing },
      ]);
      expect(await ledger.reconcile({ sessions: [] })).toEqual([]);
    });

    it.each([
      ['starting', 'waiting_for_input'],
      ['running', 'waiting_for_input'],
      ['waiting_for_input', 'waiting_for_input'],
      ['failed', 'failed'],
      ['stopped', 'stopped'],
    ] as ReadonlyArray<[SessionState, SessionState]>)('takes a %s session to %s', async (from, to) => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await ledger.sessions.create(aSession('s'));
      await ledger.sessions.setState('s', from);
      const [line] = await ledger.reconcile(gone('s'));
      expect(line).toMatchObject({ wasActive: from !== to });
      expect(await ledger.sessions.get('s')).toMatchObject({ state: to });
    });

    it('leaves a task in review that was there', async () => {
      await using ledger = await openWithRunning('s');
      await ledger.outcomes.apply({
        executionId: 's',
        promptGeneration: 1,
        controlTurnId: 'c1',
        outcome: COMPLETED,
        endedAt: AT,
      });
      const [line] = await ledger.reconcile(gone('s'));
      expect(line).toMatchObject({ wasActive: false, taskInterrupted: false, endedExecutionIds: ['s'] });
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'review', interrupted: false });
    });

    it.each([[['gone', 'gone-too']], [['gone-too', 'gone']]])(
      'interrupts a shared task once, unless a re-tracked session works on it (%j)',
      async (sessionIds) => {
        await using ledger = await openLedger({ url: await database.fresh() });
        for (const name of ['gone', 'gone-too', 'alive'])
          await ledger.sessions.create(aSession(name, { taskId: 'shared' }));
        await ledger.executionWriter.insert(anExecution('alive'));
        await ledger.executionWriter.insert(anExecution('gone'));
        const interrupted = async (): Promise<number> =>
          (await ledger.reconcile(gone(...sessionIds))).filter((line) => line.taskInterrupted).length;
        expect(await interrupted()).toBe(0);
        expect(await ledger.tasks.get('shared')).toMatchObject({ state: 'in_progress', interrupted: false });
        await ledger.executionWriter.end('alive', 'stopped');
        expect(await interrupted()).toBe(1);
        expect(await ledger.tasks.get('shared')).toMatchObject({ state: 'review', interrupted: true });
      },
    );
  });
});
