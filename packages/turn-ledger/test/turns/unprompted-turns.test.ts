import { describe, expect, it } from '@jest/globals';
import { LedgerInputError, openLedger, TurnOpenError, type Ledger } from '@holdfast/turn-ledger';
import {
  anExecution,
  aTurn,
  AT,
  COMPLETED,
  ended,
  numbered,
  recordLiveSession,
  rejection,
  said,
  started,
} from '../recorded-session.ts';

async function waitingLedger(): Promise<Ledger> {
  const ledger = await openLedger({ url: ':memory:', clock: () => 1_000 });
  await recordLiveSession(ledger, 's');
  await ledger.sessions.setState('s', 'waiting_for_input');
  return ledger;
}

async function sessionState(ledger: Ledger): Promise<string | undefined> {
  return (await ledger.sessions.get('s'))?.state;
}

describe('a turn that no prompt started', () => {
  it('is recorded with its events: the session runs while it is open, the task is left alone [GENERATION-07]', async () => {
    await using ledger = await waitingLedger();
    const task = await ledger.tasks.get('s-task');
    const begun = await ledger.events.append('s', numbered(1, started('own', 0), said('awake')));
    expect(begun.unprompted).toEqual([{ turnId: 'own', sessionId: 's', executionId: 's' }]);
    expect(await ledger.turns.list('s')).toEqual([
      {
        startedBy: 'agent',
        turnId: 'own',
        sessionId: 's',
        ordinal: 1,
        executionId: 's',
        promptGeneration: 0,
        controlTurnId: 'own',
        state: 'running',
        content: [],
        outcome: null,
        dispatchError: null,
        createdAt: AT,
        endedAt: null,
      },
    ]);
    expect(await sessionState(ledger)).toBe('running');
    expect(await ledger.turns.openTurn('s')).toBeNull();

    const over = await ledger.events.append('s', numbered(3, ended('own', 0)));
    expect(over.applied).toMatchObject([
      { applied: true, turnId: 'own', promptGeneration: 0, sessionState: 'waiting_for_input' },
    ]);
    expect(await ledger.turns.get('own')).toMatchObject({
      state: 'completed',
      outcome: COMPLETED,
      endedAt: AT,
    });
    expect(await sessionState(ledger)).toBe('waiting_for_input');
    expect(await ledger.tasks.get('s-task')).toEqual(task);
  });

  it.each(['failed', 'refused', 'cancelled'] as const)(
    'lets the session wait when it ended %s, and the task as it is [GENERATION-07]',
    async (kind) => {
      await using ledger = await waitingLedger();
      const task = await ledger.tasks.get('s-task');
      const outcome = { kind, stopReason: 'x' };
      await ledger.events.append('s', numbered(1, started('own', 0), ended('own', 0, outcome)));
      expect(await sessionState(ledger)).toBe('waiting_for_input');
      expect(await ledger.tasks.get('s-task')).toEqual(task);
    },
  );

  it('begins and ends once, whatever is told again [GENERATION-07]', async () => {
    await using ledger = await waitingLedger();
    const events = numbered(1, started('own', 0), ended('own', 0));
    await ledger.events.append('s', events);
    expect(await ledger.events.append('s', events)).toEqual({
      stored: 0,
      skipped: 2,
      applied: [],
      unprompted: [],
    });
    const again = numbered(3, started('own', 0), ended('own', 0, { kind: 'failed', stopReason: 'late' }));
    const result = await ledger.events.append('s', again);
    expect(result.unprompted).toEqual([]);
    expect(result.applied).toMatchObject([{ applied: false, why: 'already_terminal', turnId: 'own' }]);
    expect(await ledger.turns.list('s')).toMatchObject([{ turnId: 'own', state: 'completed' }]);
    expect(await sessionState(ledger)).toBe('waiting_for_input');
  });

  it('is known before its event when the control server reports it as active [GENERATION-07]', async () => {
    await using ledger = await waitingLedger();
    const active = { executionId: 's', controlTurnId: 'own', startedAt: AT };
    expect(await ledger.turns.beginUnprompted(active)).toEqual({
      turnId: 'own',
      sessionId: 's',
      executionId: 's',
    });
    expect(await ledger.turns.beginUnprompted(active)).toBeNull();
    expect(await sessionState(ledger)).toBe('running');
    // An earlier one of which only the events tell does not let the session wait.
    const events = numbered(1, started('before', 0), ended('before', 0), started('own', 0));
    expect((await ledger.events.append('s', events)).unprompted).toMatchObject([{ turnId: 'before' }]);
    expect(await sessionState(ledger)).toBe('running');
    await ledger.events.append('s', numbered(4, ended('own', 0)));
    expect(await sessionState(ledger)).toBe('waiting_for_input');
    const wrong = ledger.turns.beginUnprompted({ ...active, startedAt: 'yesterday' });
    expect((await rejection(wrong, LedgerInputError)).message).toContain('startedAt');
  });

  it('and a prompt may be open together, and neither ends the other [GENERATION-07]', async () => {
    await using ledger = await waitingLedger();
    await ledger.events.append('s', numbered(1, started('own', 0)));
    await ledger.turns.begin(aTurn('s', 1));
    await rejection(ledger.turns.begin(aTurn('s', 2)), TurnOpenError);
    // The order in which a control server tells it: a prompt ends what the agent did on its own.
    await ledger.events.append('s', numbered(2, ended('own', 0), started('c1', 1)));
    expect(await ledger.turns.list('s')).toMatchObject([
      { turnId: 'own', state: 'completed' },
      { turnId: 's-1', state: 'running', controlTurnId: 'c1' },
    ]);
    expect(await sessionState(ledger)).toBe('running');
    await ledger.events.append('s', numbered(4, ended('c1', 1)));
    expect(await sessionState(ledger)).toBe('waiting_for_input');
    expect(await ledger.tasks.get('s-task')).toMatchObject({ state: 'review' });
  });

  it('keeps its session running when a prompt beside it did not go out', async () => {
    await using ledger = await waitingLedger();
    await ledger.events.append('s', numbered(1, started('own', 0)));
    await ledger.turns.begin(aTurn('s', 1));
    await ledger.turns.dispatchFailed('s-1', { code: 'no', message: 'No.' });
    expect(await sessionState(ledger)).toBe('running');
    await ledger.events.append('s', numbered(2, ended('own', 0)));
    expect(await sessionState(ledger)).toBe('waiting_for_input');
  });

  it('is abandoned with its session when the agent is gone, and stays so', async () => {
    await using ledger = await waitingLedger();
    await ledger.events.append('s', numbered(1, started('own', 0)));
    expect(
      await ledger.reconcile({ sessions: [{ sessionId: 's', session: 'reconcile', repair: 'all' }] }),
    ).toMatchObject([{ abandonedTurnIds: ['own'] }]);
    await ledger.events.append('s', numbered(2, ended('own', 0)));
    expect(await ledger.turns.get('own')).toMatchObject({ state: 'abandoned', outcome: null });
  });

  it('does not wake a session that its host stopped', async () => {
    await using ledger = await waitingLedger();
    await ledger.sessions.setState('s', 'stopped');
    await ledger.events.append('s', numbered(1, started('own', 0), ended('own', 0)));
    expect(await sessionState(ledger)).toBe('stopped');
  });

  it('of an execution that was replaced begins nothing and touches nothing [GENERATION-12]', async () => {
    await using ledger = await waitingLedger();
    await ledger.executionWriter.end('s', 'stopped');
    await ledger.executionWriter.insert(anExecution('again', { sessionId: 's', taskId: 's-task' }));
    const late = await ledger.events.append('s', numbered(1, started('own', 0)));
    expect(late.unprompted).toEqual([]);
    expect(await ledger.turns.list('s')).toEqual([]);
    expect(await sessionState(ledger)).toBe('waiting_for_input');
  });
});
