import { describe, expect, it } from '@jest/globals';
import { until } from '@holdfast/testbeds';
import { LedgerUnavailableError, openLedger, type ApplyResult, type Ledger } from '@holdfast/turn-ledger';
import * as fc from 'fast-check';
import { hasPostgres, postgresDatabase } from '../each-database.ts';
import { eachDrawn } from '../fixtures/each-drawn.ts';
import { cuttingProxy, type CutAt } from '../fixtures/cutting-proxy.ts';
import { eventsOfTurn } from '../fixtures/story.ts';
import {
  anExecution,
  aSession,
  aTurn,
  AT,
  COMPLETED,
  numbered,
  recordLiveSession,
  rejection,
  said,
} from '../recorded-session.ts';

const APPLY = {
  executionId: 's',
  promptGeneration: 1,
  controlTurnId: 'c1',
  outcome: COMPLETED,
  endedAt: AT,
} as const;

(hasPostgres ? describe : describe.skip)('a connection that breaks', () => {
  const database = postgresDatabase();

  async function terminateAll(): Promise<void> {
    await database.query(
      database.server.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  }

  function through(url: string, port: number): string {
    return url.replace(`:${String(database.server.port)}/`, `:${String(port)}/`);
  }

  it('while it lay in the pool costs nothing', async () => {
    const url = await database.fresh();
    await using ledger = await openLedger({ url });
    await Promise.all(Array.from({ length: 10 }, async () => await ledger.tasks.list()));
    await terminateAll();
    expect(await ledger.tasks.ensure('t')).toMatchObject({ taskId: 't' });
    await terminateAll();
    expect(await ledger.tasks.list()).toHaveLength(1);
  });

  it.each<[CutAt, string]>([
    ['before', 'was never asked for'],
    ['after', 'was done and whose answer was lost'],
  ])('cut %s: a commit that %s is told as what it was, once', async (at) => {
    const url = await database.fresh();
    await using proxy = await cuttingProxy(database.server.port);
    await using ledger = await openLedger({ url: through(url, proxy.port) });
    await recordLiveSession(ledger, 's');
    await ledger.turns.begin(aTurn('s', 1));
    proxy.cut(at);
    expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: true, turnId: 's-1' });
    expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: false, why: 'already_terminal' });
    // Not even what cannot be repeated is done twice, or refused because it was done.
    proxy.cut(at);
    await ledger.turns.begin(aTurn('s', 2));
    proxy.cut(at);
    await ledger.sessions.create(aSession('other'));
    proxy.cut(at);
    await ledger.executionWriter.insert(anExecution('other'));
    proxy.cut(at);
    expect(await ledger.events.append('s', numbered(1, said('one')))).toMatchObject({
      stored: 1,
      skipped: 0,
    });
    expect(proxy.cuts).toBe(5);
    expect((await ledger.turns.list('s')).map((turn) => turn.ordinal)).toEqual([1, 2]);
  });

  it.each<CutAt>(['before', 'after'])(
    'cut %s any message of appending and applying: each is done once, and told as done [SURVIVAL-004.4] [BEYOND-02]',
    async (at) => {
      const url = await database.fresh();
      await using proxy = await cuttingProxy(database.server.port);
      await using ledger = await openLedger({ url: through(url, proxy.port) });
      await recordLiveSession(ledger, 's');
      for (let message = 1; proxy.cuts === message - 1; message += 1) {
        await ledger.turns.begin(aTurn('s', message));
        const outcome = { ...APPLY, promptGeneration: message, controlTurnId: `c${String(message)}` };
        const events = eventsOfTurn(message);
        proxy.cut(at, { message });
        expect(await ledger.events.append('s', events.slice(0, 2))).toMatchObject({ stored: 2, skipped: 0 });
        expect(await ledger.outcomes.apply(outcome)).toMatchObject({ applied: true });
        expect(await ledger.events.append('s', events)).toMatchObject({
          stored: 2,
          skipped: 2,
          applied: [{ applied: false, why: 'already_terminal' }],
        });
      }
      // Begin and commit of three transactions, and what is between.
      expect(proxy.cuts).toBeGreaterThan(12);
      const turns = await ledger.turns.list('s');
      expect(new Set(turns.map(({ state }) => state))).toEqual(new Set(['completed']));
      const events = await ledger.events.read('s', { after: 0, limit: 10_000 });
      expect(events.map(({ event }) => event)).toEqual(
        turns.flatMap(({ promptGeneration }) => eventsOfTurn(promptGeneration)).map(({ event }) => event),
      );
    },
  );

  it('during a commit, with all others that lay idle: what became of it is found out all the same', async () => {
    const url = await database.fresh();
    await using proxy = await cuttingProxy(database.server.port);
    await using ledger = await openLedger({ url: through(url, proxy.port) });
    await recordLiveSession(ledger, 's');
    await ledger.turns.begin(aTurn('s', 1));
    await Promise.all(Array.from({ length: 10 }, async () => await ledger.tasks.list()));
    proxy.cut('after', { idle: true });
    expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: true, turnId: 's-1' });
    expect(proxy.cuts).toBeGreaterThan(1);
  });

  it.each<CutAt>(['before', 'after'])(
    'cut %s the commit, with the server out of reach: it is told that nobody knows, and may be repeated',
    async (at) => {
      const url = await database.fresh();
      await using proxy = await cuttingProxy(database.server.port);
      await using ledger = await openLedger({ url: through(url, proxy.port) });
      await recordLiveSession(ledger, 's');
      await ledger.turns.begin(aTurn('s', 1));
      proxy.cut(at, { away: true });
      const error = await rejection(ledger.outcomes.apply(APPLY), LedgerUnavailableError);
      expect(error).toMatchObject({ reason: 'connection_lost', mayBeStored: true });
      expect(error.message).toContain('may have been stored');
      const next = await rejection(ledger.outcomes.apply(APPLY), LedgerUnavailableError);
      expect(next.mayBeStored).toBe(false);
      proxy.back();
      expect(await ledger.outcomes.apply(APPLY)).toMatchObject({ applied: at === 'before' });
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'completed', outcome: COMPLETED });
    },
  );

  /** Applies the outcomes of many turns, each many times at once, while something else goes on; gives how many have ended. */
  async function applyManyWhile(ledger: Ledger, disturb: () => Promise<void>): Promise<number> {
    const names = Array.from({ length: 12 }, (_, index) => `m${String(index)}`);
    for (const name of names) {
      await recordLiveSession(ledger, name);
      await ledger.turns.begin(aTurn(name, 1));
    }
    let unclear = 0;
    const insist = async (executionId: string): Promise<ApplyResult> => {
      for (;;) {
        try {
          return await ledger.outcomes.apply({ ...APPLY, executionId });
        } catch (error) {
          if (!(error instanceof LedgerUnavailableError)) throw error;
          if (error.mayBeStored) unclear += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const applying = Promise.all(
      names.map(
        async (name) => await Promise.all(Array.from({ length: 25 }, async () => await insist(name))),
      ),
    );
    await disturb();
    for (const [index, results] of (await applying).entries()) {
      const winners = results.filter((result) => result.applied).length;
      // An outcome whose commit nobody could tell of may be known as applied to nobody, but never to two.
      expect(winners).toBeLessThanOrEqual(1);
      expect(winners + unclear).toBeGreaterThanOrEqual(1);
      const name = names[index] ?? '';
      expect(await ledger.turns.get(`${name}-1`)).toMatchObject({ state: 'completed' });
      expect(await ledger.sessions.get(name)).toMatchObject({ state: 'waiting_for_input' });
      expect(await ledger.tasks.get(`${name}-task`)).toMatchObject({ state: 'review' });
    }
    return names.length;
  }

  it('at random, again and again, in the middle of many duplicate applications: each turn ends once [SURVIVAL-004.4]', async () => {
    await using ledger = await openLedger({ url: await database.fresh() });
    const ended = await applyManyWhile(ledger, async () => {
      await eachDrawn(fc.nat({ max: 20 }), 15, async (laterMs) => {
        await new Promise((resolve) => setTimeout(resolve, laterMs));
        await terminateAll();
      });
    });
    expect(ended).toBe(12);
  });

  it('with its server, which crashes and comes back: each turn ends once, and nothing acknowledged is lost [SURVIVAL-004.6]', async () => {
    await using ledger = await openLedger({
      url: await database.fresh(),
      postgres: { connectTimeoutMs: 20_000 },
    });
    await recordLiveSession(ledger, 's');
    let acknowledged = 0;
    const over = new AbortController();
    const isOver = (): boolean => over.signal.aborted;
    const appending = (async () => {
      for (let seq = 1; !isOver(); seq += 1) {
        await until(
          async () => {
            await ledger.events.append('s', numbered(seq, said(String(seq))));
            return true;
          },
          { reason: 'an event to be stored', withinMs: 200_000 },
        );
        acknowledged = seq;
      }
    })();
    await applyManyWhile(ledger, async () => {
      for (let crash = 0; crash < 3; crash += 1) {
        const before = acknowledged;
        await until(() => acknowledged > before + 3, { reason: 'work to go on', withinMs: 200_000 });
        await database.server.crash();
        await database.server.restart();
      }
    });
    over.abort();
    await appending;
    const events = await ledger.events.read('s', { after: 0, limit: 10_000 });
    expect(events.map(({ event }) => event)).toEqual(
      Array.from({ length: acknowledged }, (_, index) => said(String(index + 1))),
    );
  });

  it('with its server, which comes back as a standby: nothing is stored until that is promoted, on the same connections', async () => {
    const { server } = database;
    const url = await database.fresh();
    await using ledger = await openLedger({ url, postgres: { poolSize: 1 } });
    await database.query(url, `copy (select '') to program 'cat > standby.signal'`);
    await server.crash();
    const takesWrites = server.restart();
    try {
      const refused = async (): Promise<string> =>
        (await rejection(ledger.tasks.ensure('t'), LedgerUnavailableError)).reason;
      await until(async () => (await refused()) === 'cannot_write', {
        reason: 'the standby to take connections',
        withinMs: 60_000,
      });
      expect(await refused()).toBe('cannot_write');
      expect(await ledger.tasks.list()).toEqual([]);
    } finally {
      await database.query(url, 'select pg_promote()');
      await takesWrites;
    }
    expect(await ledger.tasks.ensure('t')).toMatchObject({ taskId: 't' });
  });
});
