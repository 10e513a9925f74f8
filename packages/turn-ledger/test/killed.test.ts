import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { openLedger } from '@holdfast/turn-ledger';
import { startProgram, testHome } from '@holdfast/testbeds';
import { eventsOfTurn } from './fixtures/story.ts';

const PROGRAM = join(import.meta.dirname, 'fixtures/work-until-killed.ts');
const KILLS = 15;

/** The highest number that lines of this kind tell of. */
function highest(lines: readonly string[], kind: string): number {
  return Math.max(
    0,
    ...lines.filter((line) => line.startsWith(kind)).map((line) => Number(line.split(' ')[1])),
  );
}

it('a backend that is killed at any moment has lost nothing that was acknowledged, and doubled nothing [SURVIVAL-004.6] [BEYOND-02]', async () => {
  await using home = await testHome('killed');
  const url = home.path('ledger.db');
  const told = { begun: 0, stored: 0, applied: 0 };
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await using program = await startProgram([
      process.execPath,
      '--conditions=@holdfast/source',
      PROGRAM,
      url,
    ]);
    await program.nextLine('ready', { withinMs: 20_000 });
    await setTimeout(Math.random() * 150);
    program.kill('SIGKILL');
    expect(await program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });
    const lines = program.lines();
    for (const kind of ['begun', 'stored', 'applied'] as const) {
      told[kind] = Math.max(told[kind], highest(lines, kind));
    }

    await using ledger = await openLedger({ url });
    const turns = await ledger.turns.list('s');
    const cursor = await ledger.events.cursor('s');
    expect(turns.length).toBeGreaterThanOrEqual(told.begun);
    expect(cursor).toBeGreaterThanOrEqual(told.stored);
    expect(turns.filter((turn) => turn.state === 'completed').length).toBeGreaterThanOrEqual(told.applied);

    // The whole story up to the cursor, each event once, and turns that fit it.
    const story = turns.flatMap((turn) => eventsOfTurn(turn.promptGeneration)).slice(0, cursor);
    const events = await ledger.events.read('s', { after: 0, limit: 1_000_000 });
    expect(events).toEqual(story.map((event) => ({ ...event, position: event.seq, executionId: 's' })));
    for (const [index, turn] of turns.entries()) {
      const isLast = index === turns.length - 1;
      const generation = index + 1;
      const isEnded = !isLast || turn.state === 'completed';
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
    const isOpen = turns.at(-1)?.state === 'dispatching' || turns.at(-1)?.state === 'running';
    const expected = turns.length === 0 ? 'starting' : isOpen ? 'running' : 'waiting_for_input';
    expect(await ledger.sessions.get('s')).toMatchObject({ state: expected });
    expect(await ledger.tasks.get('s-task')).toMatchObject({
      state: isOpen || turns.length === 0 ? 'in_progress' : 'review',
    });
  }
  expect(told.applied).toBeGreaterThan(KILLS);
}, 180_000);
