import { describe, expect, it } from '@jest/globals';
import {
  ExecutionNotUsableError,
  LedgerInputError,
  openLedger,
  TurnExistsError,
  TurnOpenError,
  UnknownSessionError,
  type Ledger,
} from '@holdfast/turn-ledger';
import {
  aTurn,
  anExecution,
  aSession,
  AT,
  COMPLETED,
  recordLiveSession,
  rejection,
  gone,
} from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  async function ledgerWithSession(): Promise<Ledger> {
    const ledger = await openLedger({ url: await database.fresh(), clock: () => 1_000 });
    await recordLiveSession(ledger, 's');
    await ledger.sessions.setState('s', 'waiting_for_input');
    return ledger;
  }

  describe('beginning a turn', () => {
    it('records the prompt, and that session and task are at work', async () => {
      await using ledger = await ledgerWithSession();
      const content = [
        { type: 'text', text: 'NUL \0 and a lone \uDFFF' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ];
      const turn = await ledger.turns.begin(aTurn('s', 1, { content }));
      expect(turn).toEqual({
        ...aTurn('s', 1, { content }),
        startedBy: 'prompt',
        ordinal: 1,
        controlTurnId: null,
        state: 'dispatching',
        outcome: null,
        dispatchError: null,
        createdAt: '1970-01-01T00:00:01.000Z',
        endedAt: null,
      });
      expect(await ledger.turns.get('s-1')).toEqual(turn);
      expect(await ledger.turns.openTurn('s')).toEqual(turn);
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'running' });
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'in_progress' });
    });

    it('is refused while a turn is open, and nothing is changed then', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      const error = await rejection(ledger.turns.begin(aTurn('s', 2)), TurnOpenError);
      expect(error).toMatchObject({ code: 'turn_open', sessionId: 's', openTurnId: 's-1' });
      expect(await ledger.turns.list('s')).toHaveLength(1);
      await ledger.turns.abandon('s-1');
      expect(await ledger.turns.begin(aTurn('s', 2))).toMatchObject({ ordinal: 2 });
    });

    it('succeeds once of fifty at once', async () => {
      await using ledger = await ledgerWithSession();
      const begun = await Promise.allSettled(
        Array.from({ length: 50 }, async (_, index) => await ledger.turns.begin(aTurn('s', index + 1))),
      );
      expect(begun.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
      const refused = begun.filter((result) => result.status === 'rejected');
      expect(refused.every((result) => result.reason instanceof TurnOpenError)).toBe(true);
      expect(await ledger.turns.list('s')).toHaveLength(1);
    });

    it('clears what an interruption left on the task', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.reconcile(gone('s'));
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'review', interrupted: true });
      await ledger.executionWriter.insert(anExecution('s2', { sessionId: 's', taskId: 's-task' }));
      await ledger.turns.begin(aTurn('s', 1, { executionId: 's2' }));
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'in_progress', interrupted: false });
    });

    it('is refused for what is not known, not its own, or over', async () => {
      await using ledger = await ledgerWithSession();
      await recordLiveSession(ledger, 'other');
      await rejection(ledger.turns.begin(aTurn('nobody', 1)), UnknownSessionError);
      for (const [executionId, why] of [
        ['none', 'not_recorded'],
        ['other', 'other_session'],
      ] as const) {
        const error = await rejection(
          ledger.turns.begin(aTurn('s', 1, { executionId })),
          ExecutionNotUsableError,
        );
        expect(error).toMatchObject({ code: 'execution_not_usable', executionId, why });
      }
      await ledger.executionWriter.end('s', 'stopped');
      const ended = await rejection(ledger.turns.begin(aTurn('s', 1)), ExecutionNotUsableError);
      expect(ended.why).toBe('ended');
      await ledger.turns.begin(aTurn('other', 1));
      await ledger.turns.abandon('other-1');
      const again = ledger.turns.begin(aTurn('other', 2, { turnId: 'other-1' }));
      expect(await rejection(again, TurnExistsError)).toMatchObject({
        code: 'turn_exists',
        turnId: 'other-1',
      });
      await rejection(ledger.turns.begin(aTurn('other', 0)), LedgerInputError);
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'waiting_for_input' });
    });
  });

  describe('an accepted turn', () => {
    it('runs under the id of the control server; saying so again changes nothing', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      expect(await ledger.turns.accepted('s-1', 'c1')).toEqual({ recorded: true });
      expect(await ledger.turns.accepted('s-1', 'c1')).toEqual({ recorded: true });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'running', controlTurnId: 'c1' });
    });

    it('keeps the id it has', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.turns.accepted('s-1', 'c1');
      const answer = await ledger.turns.accepted('s-1', 'c2');
      expect(answer).toEqual({ recorded: false, why: 'other_control_turn', controlTurnId: 'c1' });
      expect(await ledger.turns.get('s-1')).toMatchObject({ controlTurnId: 'c1' });
    });

    it('stays ended when its outcome was faster', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.outcomes.apply({
        executionId: 's',
        promptGeneration: 1,
        controlTurnId: 'c1',
        outcome: COMPLETED,
        endedAt: AT,
      });
      expect(await ledger.turns.accepted('s-1', 'c1')).toEqual({ recorded: false, why: 'already_terminal' });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'completed' });
      expect(await ledger.turns.accepted('unknown', 'c1')).toEqual({ recorded: false, why: 'no_such_turn' });
    });
  });

  describe('a turn that was not dispatched', () => {
    it('has failed, with its reason, and its session waits for input', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      const error = { code: 'agent_not_running', message: 'The agent \0 is not running.' };
      expect(await ledger.turns.dispatchFailed('s-1', error)).toEqual({ changed: true });
      expect(await ledger.turns.get('s-1')).toMatchObject({
        state: 'failed',
        dispatchError: error,
        outcome: null,
        endedAt: '1970-01-01T00:00:01.000Z',
      });
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'waiting_for_input' });
      expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'in_progress', failed: false });
      expect(await ledger.turns.dispatchFailed('s-1', error)).toEqual({ changed: false });
    });

    it('cannot be said of one that runs', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.turns.accepted('s-1', 'c1');
      expect(await ledger.turns.dispatchFailed('s-1', { code: 'x', message: 'y' })).toEqual({
        changed: false,
      });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'running' });
      expect(await ledger.turns.dispatchFailed('none', { code: 'x', message: 'y' })).toEqual({
        changed: false,
      });
    });

    it('leaves a number behind that the next backend may give again', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.turns.dispatchFailed('s-1', { code: 'connection_lost', message: 'It never left.' });
      await ledger.turns.begin(aTurn('s', 1, { turnId: 'second' }));
      const result = await ledger.outcomes.apply({
        executionId: 's',
        promptGeneration: 1,
        controlTurnId: 'c1',
        outcome: COMPLETED,
        endedAt: AT,
      });
      expect(result).toMatchObject({ applied: true, turnId: 'second' });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'failed', controlTurnId: null });
    });
  });

  describe('an abandoned turn', () => {
    it('is over, and its session waits for input', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.turns.accepted('s-1', 'c1');
      expect(await ledger.turns.abandon('s-1')).toEqual({ changed: true });
      expect(await ledger.turns.abandon('s-1')).toEqual({ changed: false });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'abandoned', outcome: null });
      expect(await ledger.turns.openTurn('s')).toBeNull();
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'waiting_for_input' });
    });

    it('leaves a stopped session stopped', async () => {
      await using ledger = await ledgerWithSession();
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.sessions.setState('s', 'stopped');
      await ledger.turns.abandon('s-1');
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'stopped' });
    });
  });

  it('tells the highest generation of an execution', async () => {
    await using ledger = await ledgerWithSession();
    await ledger.sessions.create(aSession('quiet'));
    expect(await ledger.turns.highestGeneration('s')).toBe(0);
    await ledger.turns.begin(aTurn('s', 7));
    await ledger.turns.abandon('s-7');
    await ledger.turns.begin(aTurn('s', 12));
    expect(await ledger.turns.highestGeneration('s')).toBe(12);
    expect((await ledger.turns.list('s')).map((turn) => [turn.ordinal, turn.promptGeneration])).toEqual([
      [1, 7],
      [2, 12],
    ]);
  });
});
