// Opens the ledger of its argument as a user who may not write, and prints why that failed.
import { openLedger, LedgerUnavailableError } from '@holdfast/turn-ledger';

if (process.getuid?.() === 0) process.setuid?.(65_534);
try {
  await openLedger({ url: process.argv[2] ?? '' });
  process.stdout.write('opened\n');
} catch (error) {
  process.stdout.write(
    error instanceof LedgerUnavailableError ? `${error.reason} ${error.path}\n` : `${String(error)}\n`,
  );
}
