import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { openLedger } from '@holdfast/turn-ledger';
import { startProgram, testHome, type StartedProgram, type TestHome } from '@holdfast/testbeds';
import * as fc from 'fast-check';
import { eachDatabase, type TestDatabase } from './each-database.ts';
import { eachDrawn } from './fixtures/each-drawn.ts';
import { eventsOfTurn } from './fixtures/story.ts';

const PROGRAM = join(import.meta.dirname, 'fixtures/work-until-killed.ts');

/** How often to kill at random; `HOLDFAST_KILLS=200` is for a long look. */
const KILLS = Number(process.env['HOLDFAST_KILLS'] ?? 45);
const RANDOM_KILLS: Record<TestDatabase['name'], number> = {
  SQLite: KILLS,
  PostgreSQL: Math.ceil(KILLS / 3),
};

/** SQLite answers within the call, so there is no moment between the two. */
const KILL_WHEN = { SQLite: ['after'], PostgreSQL: ['after', 'sent'] } as const;

/** When to kill: after so much work, and a little later. */
const moment = { work: fc.nat({ max: 8 }), laterMs: fc.nat({ max: 20 }) };

/** A ledger that programs work on which are killed. */
class KilledBackends {
  readonly url: string;
  readonly #home: TestHome;
  readonly #told = { begun: 0, stored: 0, applied: 0 };
  /** How far the events have been looked at. */
  #checked = 0;

  constructor(url: string, home: TestHome) {
    this.url = url;
    this.#home = home;
  }

  get applied(): number {
    return this.#told.applied;
  }

  async start(...args: readonly string[]): Promise<StartedProgram> {
    const command = [process.execPath, '--conditions=@holdfast/source', PROGRAM, this.url, ...args];
    // Hundreds of starts: the first that ends by itself leaves its compiled modules to the others.
    const env = { NODE_COMPILE_CACHE: this.#home.path('compiled'), NODE_OPTIONS: undefined };
    return await startProgram(command, { cwd: this.#home.root, env });
  }

  /** Looks whether everything is there that a program was told of, once, and whether what is there fits together. */
  async check(program: StartedProgram): Promise<void> {
    const told = this.#told;
    for (const kind of ['begun', 'stored', 'applied'] as const) {
      told[kind] = Math.max(told[kind], highest(program.lines(), kind));
    }
    await using ledger = await openLedger({ url: this.url });
    const turns = await ledger.turns.list('s');
    const cursor = await ledger.events.cursor('s');
    expect(turns.length).toBeGreaterThanOrEqual(told.begun);
    expect(cursor).toBeGreaterThanOrEqual(told.stored);
    expect(turns.filter((turn) => turn.state === 'completed').length).toBeGreaterThanOrEqual(told.applied);

    // The whole story up to the cursor, each event once, and turns that fit it.
    const story = turns.flatMap((turn) => eventsOfTurn(turn.promptGeneration)).slice(this.#checked, cursor);
    const events = await ledger.events.read('s', { after: this.#checked, limit: 1_000_000 });
    expect(events).toEqual(story.map((event) => ({ ...event, position: event.seq, executionId: 's' })));
    this.#checked = cursor;
    for (const [index, turn] of turns.entries()) {
      const generation = index + 1;
      const isEnded = index < turns.length - 1 || turn.state === 'completed';
      expect(turn).toMatchObject({
        ordinal: generation,
        promptGeneration: generation,
        turnId: `s-${String(generation)}`,
        ...(isEnded ? { state: 'completed', controlTurnId: `c${String(generation)}` } : {}),
      });
    }
    // Cursor and turn move together: an end that is stored is applied.
    const notApplied = turns.filter(
      (turn) => cursor >= turn.promptGeneration * 4 && turn.state !== 'completed',
    );
    expect(notApplied).toEqual([]);
    const last = turns.at(-1);
    const isOpen = last?.state === 'dispatching' || last?.state === 'running';
    if (last === undefined) return;
    expect(await ledger.sessions.get('s')).toMatchObject({ state: isOpen ? 'running' : 'waiting_for_input' });
    expect(await ledger.tasks.get('s-task')).toMatchObject({ state: isOpen ? 'in_progress' : 'review' });
  }
}

/** The highest number that lines of this kind tell of. */
function highest(lines: readonly string[], kind: string): number {
  return Math.max(
    0,
    ...lines.filter((line) => line.startsWith(kind)).map((line) => Number(line.split(' ')[1])),
  );
}

eachDatabase((database) => {
  it('a backend that is killed at any moment has lost nothing that was acknowledged, and doubled nothing [SURVIVAL-004.6] [BEYOND-02]', async () => {
    await using home = await testHome('killed');
    const backends = new KilledBackends(await database.fresh(), home);
    {
      await using program = await backends.start('after', '1000');
      expect(await program.exited).toMatchObject({ exitCode: 0 });
    }
    await eachDrawn(fc.record(moment), RANDOM_KILLS[database.name], async ({ work, laterMs }, kill) => {
      await using program = await backends.start();
      // One in four dies while it starts, opens the ledger, or recovers what the one before it left.
      if (kill % 4 > 0) {
        await program.nextLine('ready', { withinMs: 60_000 });
        for (let stored = 0; stored < work; stored += 1)
          await program.nextLine('stored', { withinMs: 60_000 });
      }
      await setTimeout(laterMs);
      program.kill('SIGKILL');
      expect(await program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });
      await backends.check(program);
    });
    // However unlucky the moments were.
    expect(backends.applied).toBeGreaterThan(RANDOM_KILLS[database.name] / 8);
  }, 600_000);

  const { crash } = database;
  if (crash !== null)
    it('a backend that is killed at any moment while its database server crashes has lost nothing that was acknowledged, and doubled nothing [SURVIVAL-004.6] [BEYOND-02]', async () => {
      await using home = await testHome('both-killed');
      const backends = new KilledBackends(await database.fresh(), home);
      const meeting = fc.record({ ...moment, serverFirst: fc.boolean(), apartMs: fc.nat({ max: 5 }) });
      await eachDrawn(meeting, Math.ceil(KILLS / 8), async ({ work, laterMs, serverFirst, apartMs }) => {
        await using program = await backends.start();
        await program.nextLine('ready', { withinMs: 60_000 });
        for (let stored = 0; stored < work; stored += 1)
          await program.nextLine('stored', { withinMs: 60_000 });
        await setTimeout(laterMs);
        const kill = (): void => {
          program.kill('SIGKILL');
        };
        if (!serverFirst) kill();
        const crashed = crash();
        await setTimeout(apartMs);
        if (serverFirst) kill();
        await program.exited;
        await crashed;
        await backends.check(program);
      });
      expect(backends.applied).toBeGreaterThan(0);
    });

  it.each(KILL_WHEN[database.name])(
    'a backend that is killed at any statement of applying and appending (%s) loses and doubles nothing [SURVIVAL-004.6]',
    async (when) => {
      await using home = await testHome('killed-at');
      const backends = new KilledBackends(await database.fresh(), home);
      {
        await using program = await backends.start('after', '1000');
        expect(await program.exited).toMatchObject({ exitCode: 0 });
      }
      let statement = 1;
      for (; ; statement += 1) {
        await using program = await backends.start(when, String(statement));
        const { signal } = await program.exited;
        await backends.check(program);
        if (signal === null) break;
      }
      // Both ways of seeing an end: begin and commit of four transactions, and what is between.
      expect(statement).toBeGreaterThan(20);
    },
    600_000,
  );
});
