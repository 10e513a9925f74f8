// Works on the ledger of its argument until it is killed, as a backend does that was killed before. Each line that it prints
// tells of a change that was acknowledged: `begun <generation>`, `stored <seq>`, `applied <generation>`.
import { writeSync } from 'node:fs';
import { openLedger } from '@holdfast/turn-ledger';
import { anExecution, aSession, aTurn, AT, COMPLETED } from '../recorded-session.ts';
import { eventsOfTurn } from './story.ts';

function tell(line: string): void {
  writeSync(1, `${line}\n`);
}

const ledger = await openLedger({ url: process.argv[2] ?? '' });
if ((await ledger.sessions.get('s')) === null) await ledger.sessions.create(aSession('s'));
if ((await ledger.executionRecords.listLive()).length === 0)
  await ledger.executionWriter.insert(anExecution('s'));
tell('ready');

let generation = await ledger.turns.highestGeneration('s');
if ((await ledger.turns.openTurn('s')) === null) generation += 1;
for (; ; generation += 1) {
  if ((await ledger.turns.openTurn('s')) === null) {
    await ledger.turns.begin(aTurn('s', generation));
    tell(`begun ${String(generation)}`);
  }
  const events = [...(generation > 1 ? eventsOfTurn(generation - 1) : []), ...eventsOfTurn(generation)];
  if (generation % 2 === 0) {
    // Seen in the retained list first; the event of the same end comes after.
    await ledger.outcomes.apply({
      executionId: 's',
      promptGeneration: generation,
      controlTurnId: `c${String(generation)}`,
      outcome: COMPLETED,
      endedAt: AT,
    });
    tell(`applied ${String(generation)}`);
  }
  for (const count of [2, 5, events.length]) {
    await ledger.events.append('s', events.slice(0, count));
    tell(`stored ${String(Math.max(0, await ledger.events.cursor('s')))}`);
  }
  tell(`applied ${String(generation)}`);
}
