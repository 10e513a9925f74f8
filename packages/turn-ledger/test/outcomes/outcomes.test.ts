import type { TurnOutcome } from '@holdfast/control-protocol';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  LedgerInputError,
  openLedger,
  outcomeEffects,
  type ApplyOutcome,
  type ApplyResult,
  type Ledger,
  type MapOutcome,
} from '@holdfast/turn-ledger';
import { aTurn, AT, COMPLETED, ended, numbered, recordLiveSession, rejection } from '../recorded-session.ts';
import { startProgram } from '@holdfast/testbeds';
import { eachDatabase } from '../each-database.ts';

/** Makes every update of a task fail. */
const REFUSING_TASKS = {
  SQLite: {
    set: "create trigger no before update on tasks begin select raise(abort, 'no task today'); end",
    unset: 'drop trigger no',
  },
  PostgreSQL: {
    set: `create function no() returns trigger language plpgsql as $$ begin raise exception 'no task today'; end $$;
      create trigger no before update on tasks for each row execute function no()`,
    unset: 'drop trigger no on tasks',
  },
} as const;

eachDatabase((database) => {
  function anOutcome(with_: Partial<ApplyOutcome> = {}): ApplyOutcome {
    return {
      executionId: 's',
      promptGeneration: 1,
      controlTurnId: 'c1',
      outcome: COMPLETED,
      endedAt: AT,
      ...with_,
    };
  }

  async function ledgerWithRunningTurn(
    with_: { url?: string; mapOutcome?: MapOutcome } = {},
  ): Promise<Ledger> {
    const ledger = await openLedger({ url: await database.fresh(), clock: () => 1_000, ...with_ });
    await recordLiveSession(ledger, 's');
    await ledger.turns.begin(aTurn('s', 1));
    await ledger.turns.accepted('s-1', 'c1');
    return ledger;
  }

  async function stateOf(ledger: Ledger): Promise<unknown> {
    return {
      turns: await ledger.turns.list('s'),
      session: await ledger.sessions.get('s'),
      task: await ledger.tasks.get('s-task'),
    };
  }

  describe('what an outcome does', () => {
    const table = [
      ['completed', 'completed', 'waiting_for_input', { state: 'review', failed: false }],
      ['cancelled', 'cancelled', 'waiting_for_input', { state: 'in_progress', failed: false }],
      ['refused', 'failed', 'waiting_for_input', { state: 'in_progress', failed: false }],
      ['failed', 'failed', 'failed', { state: 'in_progress', failed: true }],
    ] as const;
    it.each(table)('%s: turn %s, session %s, task %j', async (kind, turnState, sessionState, task) => {
      await using ledger = await ledgerWithRunningTurn();
      const outcome: TurnOutcome = {
        kind,
        stopReason: 'as the agent said \0',
        error: { code: 'e', message: 'm' },
        usage: { tokens: 3, extra: { kept: true } },
      };
      expect(await ledger.outcomes.apply(anOutcome({ outcome }))).toEqual({
        applied: true,
        turnId: 's-1',
        controlTurnId: 'c1',
        promptGeneration: 1,
        sessionId: 's',
        taskId: 's-task',
        turnState,
        sessionState,
        outcome,
      });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: turnState, outcome, endedAt: AT });
      expect(await ledger.sessions.get('s')).toMatchObject({ state: sessionState });
      expect(await ledger.tasks.get('s-task')).toMatchObject({ ...task, interrupted: false });
    });

    it('is what a host says instead', async () => {
      const mapOutcome: MapOutcome = (outcome) =>
        outcome.kind === 'failed'
          ? { turn: 'failed', session: 'waiting_for_input', task: 'to_review' }
          : outcomeEffects(outcome);
      await using ledger = await ledgerWithRunningTurn({ mapOutcome });
      await ledger.outcomes.apply(anOutcome({ outcome: { kind: 'failed', stopReason: 'agent_exited' } }));
      expect(await stateOf(ledger)).toMatchObject({
        session: { state: 'waiting_for_input' },
        task: { state: 'review', failed: false },
      });
    });

    it('does not wake a session that its host stopped', async () => {
      await using ledger = await ledgerWithRunningTurn();
      await ledger.sessions.setState('s', 'stopped');
      const result = await ledger.outcomes.apply(
        anOutcome({ outcome: { kind: 'failed', stopReason: 'agent_exited' } }),
      );
      expect(result).toMatchObject({ applied: true, turnState: 'failed', sessionState: 'stopped' });
      expect(await ledger.sessions.get('s')).toMatchObject({ state: 'stopped' });
    });
  });

  describe('the same turn', () => {
    it('is ended once: applying again changes nothing [SURVIVAL-004.6]', async () => {
      await using ledger = await ledgerWithRunningTurn();
      await ledger.outcomes.apply(anOutcome());
      const before = await stateOf(ledger);
      for (const outcome of [COMPLETED, { kind: 'failed', stopReason: 'late' } as const]) {
        expect(await ledger.outcomes.apply(anOutcome({ outcome, endedAt: '2030-01-01T00:00:00Z' }))).toEqual({
          applied: false,
          why: 'already_terminal',
          turnId: 's-1',
          sessionId: 's',
          turnState: 'completed',
        });
      }
      expect(await stateOf(ledger)).toEqual(before);
    });

    it.each([
      ['the retained list, then the stream', true],
      ['the stream, then the retained list', false],
    ])('seen both ways keeps the first outcome: %s [SURVIVAL-004.4]', async (_order, listFirst) => {
      await using ledger = await ledgerWithRunningTurn();
      const failed = { kind: 'failed', stopReason: 'agent_exited' } as const;
      const fromList = async (): Promise<ApplyResult> => await ledger.outcomes.apply(anOutcome());
      const fromStream = async (): Promise<ApplyResult | undefined> =>
        (await ledger.events.append('s', numbered(1, ended('c1', 1, failed)))).applied[0];
      const [first, second] = listFirst ? [fromList, fromStream] : [fromStream, fromList];
      expect(await first()).toMatchObject({ applied: true });
      const before = await stateOf(ledger);
      expect(await second()).toMatchObject({ applied: false, why: 'already_terminal' });
      expect(await stateOf(ledger)).toEqual(before);
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: listFirst ? 'completed' : 'failed' });
    });

    it('is known by the turn id of the control server, not by its number alone [SURVIVAL-004.4]', async () => {
      await using ledger = await ledgerWithRunningTurn();
      const other = anOutcome({ controlTurnId: 'c2' });
      expect(await ledger.outcomes.apply(other)).toEqual({ applied: false, why: 'no_such_turn' });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'running' });
      await ledger.outcomes.apply(anOutcome());
      expect(await ledger.outcomes.apply(other)).toEqual({ applied: false, why: 'no_such_turn' });
    });

    it('gets its turn id with the outcome, when a crash kept the acceptance from being recorded', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.turns.begin(aTurn('s', 1));
      expect(await ledger.outcomes.apply(anOutcome({ controlTurnId: 'c9' }))).toMatchObject({
        applied: true,
      });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'completed', controlTurnId: 'c9' });
      expect(await ledger.outcomes.apply(anOutcome({ controlTurnId: 'c9' }))).toMatchObject({
        why: 'already_terminal',
      });
    });

    it('stays abandoned', async () => {
      await using ledger = await ledgerWithRunningTurn();
      await ledger.turns.abandon('s-1');
      const before = await stateOf(ledger);
      expect(await ledger.outcomes.apply(anOutcome())).toMatchObject({
        applied: false,
        why: 'already_terminal',
        turnState: 'abandoned',
      });
      expect(await stateOf(ledger)).toEqual(before);
    });

    it('is none of ours when no prompt of this ledger started it', async () => {
      await using ledger = await ledgerWithRunningTurn();
      const before = await stateOf(ledger);
      for (const other of [{ promptGeneration: 0 }, { promptGeneration: 2 }, { executionId: 'other' }]) {
        expect(await ledger.outcomes.apply(anOutcome(other))).toEqual({
          applied: false,
          why: 'no_such_turn',
        });
      }
      expect(await stateOf(ledger)).toEqual(before);
    });
  });

  describe('many at once', () => {
    it.each([
      ['one outcome', [COMPLETED]],
      [
        'three different outcomes',
        [COMPLETED, { kind: 'failed', stopReason: 'x' }, { kind: 'cancelled', stopReason: 'y' }],
      ],
    ] as ReadonlyArray<[string, TurnOutcome[]]>)(
      'fifty callers with %s: exactly one applies [SURVIVAL-004.4]',
      async (_what, outcomes) => {
        await using ledger = await ledgerWithRunningTurn();
        const results = await Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const outcome = outcomes[index % outcomes.length] ?? COMPLETED;
            return await ledger.outcomes.apply(anOutcome({ outcome }));
          }),
        );
        const winners = results.filter((result) => result.applied);
        expect(winners).toHaveLength(1);
        expect(results.filter((result) => !result.applied && result.why === 'already_terminal')).toHaveLength(
          49,
        );
        const turn = await ledger.turns.get('s-1');
        expect(turn).toMatchObject({ state: winners[0]?.turnState });
        expect(await ledger.sessions.get('s')).toMatchObject({ state: winners[0]?.sessionState });
      },
    );
  });

  it('fifty callers in two processes: exactly one applies [SURVIVAL-004.4]', async () => {
    const url = await database.fresh();
    await using ledger = await ledgerWithRunningTurn({ url });
    const program = join(import.meta.dirname, '../fixtures/apply-many.ts');
    const command = [process.execPath, '--conditions=@holdfast/source', program, url, '25'];
    await using one = await startProgram(command, { env: { NODE_OPTIONS: undefined } });
    await using other = await startProgram(command, { env: { NODE_OPTIONS: undefined } });
    const both = [one, other];
    await Promise.all(both.map(async (caller) => await caller.nextLine('ready', { withinMs: 60_000 })));
    for (const caller of both) caller.endInput();
    await Promise.all(both.map(async (caller) => await caller.exited));
    const applied = both.map((caller) => Number(caller.lines().at(-1)?.replace('applied ', '')));
    expect(applied.toSorted((a, b) => a - b)).toEqual([0, 1]);
    const turn = await ledger.turns.get('s-1');
    const sessionState = turn?.state === 'failed' ? 'failed' : 'waiting_for_input';
    expect(await ledger.sessions.get('s')).toMatchObject({ state: sessionState });
  });

  it('is one transaction: when the task cannot follow, the turn has not ended', async () => {
    const url = await database.fresh();
    await using ledger = await ledgerWithRunningTurn({ url });
    const refusing = REFUSING_TASKS[database.name];
    await database.query(url, refusing.set);
    const before = await stateOf(ledger);
    await expect(ledger.outcomes.apply(anOutcome())).rejects.toThrow('no task today');
    await expect(ledger.events.append('s', numbered(1, ended('c1', 1)))).rejects.toThrow('no task today');
    expect(await stateOf(ledger)).toEqual(before);
    expect(await ledger.events.cursor('s')).toBe(0);
    await database.query(url, refusing.unset);
    expect(await ledger.outcomes.apply(anOutcome())).toMatchObject({ applied: true });
  });

  it.each([{ endedAt: 'yesterday' }, { controlTurnId: '' }, { promptGeneration: -1 }])(
    'refuses what is not an outcome: %j',
    async (wrong) => {
      await using ledger = await ledgerWithRunningTurn();
      const error = await rejection(ledger.outcomes.apply(anOutcome(wrong)), LedgerInputError);
      expect(error.message).toContain(Object.keys(wrong)[0]);
    },
  );
});
