// Appends events to the ledger of its argument until that fails, and prints how far it came and why it failed.
import { LedgerUnavailableError, openLedger } from '@holdfast/turn-ledger';
import { numbered, recordLiveSession, said } from '../recorded-session.ts';

const ledger = await openLedger({ url: process.argv[2] ?? '' });
await recordLiveSession(ledger, 's');
let stored = 0;
try {
  for (;;) {
    await ledger.events.append('s', numbered(stored + 1, said('x'.repeat(20_000)), said('y'.repeat(20_000))));
    stored += 2;
  }
} catch (error) {
  if (!(error instanceof LedgerUnavailableError)) throw error;
  const cursor = await ledger.events.cursor('s');
  process.stdout.write(`stored ${String(stored)}, cursor ${String(cursor)}, ${error.reason}\n`);
}
