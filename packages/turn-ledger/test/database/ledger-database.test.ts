import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { NestedTransactionError, openLedger, outcomeEffects, type Ledger } from '@holdfast/turn-ledger';
import { runProgram, testHome } from '@holdfast/testbeds';
import { aTurn, COMPLETED, ended, numbered, recordLiveSession, said } from '../recorded-session.ts';

describe('a ledger', () => {
  it('refuses to be used from inside its own transaction, which would never end', async () => {
    const nested: Array<Promise<unknown>> = [];
    const ledger: Ledger = await openLedger({
      url: ':memory:',
      mapOutcome: (outcome) => {
        nested.push(ledger.tasks.list(), ledger.tasks.ensure('nested'));
        for (const use of nested) use.catch(() => undefined);
        return outcomeEffects(outcome);
      },
    });
    await recordLiveSession(ledger, 's');
    await ledger.turns.begin(aTurn('s', 1));
    await ledger.events.append('s', numbered(1, ended('c1', 1, COMPLETED)));
    expect(nested).toHaveLength(2);
    for (const use of nested) await expect(use).rejects.toBeInstanceOf(NestedTransactionError);
    expect(await ledger.tasks.get('nested')).toBeNull();
    await ledger.close();
  });

  it('lets timers and I/O go on while it is busy', async () => {
    await using ledger = await openLedger({ url: ':memory:' });
    await recordLiveSession(ledger, 's');
    const ticks: number[] = [];
    const timer = setInterval(() => ticks.push(ticks.length), 1);
    const deadline = performance.now() + 60_000;
    for (let seq = 1; ticks.length <= 10 && performance.now() < deadline; seq += 1)
      await ledger.events.append('s', numbered(seq, said('on')));
    clearInterval(timer);
    expect(ticks.length).toBeGreaterThan(10);
  });

  it('says that the disk is full, keeps what was acknowledged, and goes on being readable', async () => {
    await using home = await testHome('full');
    const url = home.path('ledger.db');
    const program = join(import.meta.dirname, '../fixtures/write-until-full.ts');
    // No file of this process may grow beyond 512 KiB or 1 MiB, whatever the shell counts in.
    const limited = ['sh', '-c', 'ulimit -f 1024; exec "$@"', 'limited', process.execPath];
    const { stdout } = await runProgram([...limited, '--conditions=@holdfast/source', program, url], {
      timeoutMs: 60_000,
    });
    const [, stored, cursor, reason] = /^stored (\d+), cursor (\d+), (\w+)\n$/.exec(stdout) ?? [];
    expect(reason).toMatch(/^(disk_full|io_error)$/);
    expect(Number(stored)).toBeGreaterThan(0);
    expect(cursor).toBe(stored);
    await using ledger = await openLedger({ url });
    expect(await ledger.events.cursor('s')).toBe(Number(stored));
    expect(await ledger.events.read('s', { after: 0, limit: 1_000 })).toHaveLength(Number(stored));
  });
});
