import { describe, expect, it } from '@jest/globals';
import { EventGapError, openLedger } from '@holdfast/turn-ledger';
import type { LedgerTransaction } from '../../src/database/schema.ts';
import { SharedTransactions } from '../../src/database/shared-transactions.ts';
import { eachDatabase } from '../each-database.ts';
import { numbered, recordLiveSession, rejection, said } from '../recorded-session.ts';

/** Transactions that keep what their works have put into the draft, all of it or nothing. */
class Drafts {
  readonly stored: string[][] = [];
  #draft: string[] = [];

  readonly transact = async <T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T> => {
    this.#draft = [];
    await Promise.resolve();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these works look at no transaction
    const value = await work(undefined as unknown as LedgerTransaction);
    this.stored.push(this.#draft);
    return value;
  };

  put(text: string): void {
    this.#draft.push(text);
  }
}

describe('works that come at the same time', () => {
  it('share the transaction after the one that is under way, in the order in which they came', async () => {
    const drafts = new Drafts();
    const shared = new SharedTransactions(drafts.transact);
    const names = ['a', 'b', 'c', 'd'];
    const results = await Promise.all(
      names.map(
        async (name) =>
          await shared.run(async () => {
            drafts.put(name);
            return await Promise.resolve(name.toUpperCase());
          }),
      ),
    );
    expect(results).toEqual(['A', 'B', 'C', 'D']);
    expect(drafts.stored).toEqual([['a'], ['b', 'c', 'd']]);
  });

  it('have each its own end: one that fails takes no other with it', async () => {
    const drafts = new Drafts();
    const shared = new SharedTransactions(drafts.transact);
    const results = await Promise.allSettled(
      ['a', 'b', 'bad', 'c'].map(
        async (name) =>
          await shared.run(async () => {
            drafts.put(name);
            if (name === 'bad') throw new Error('no');
            await Promise.resolve();
          }),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(drafts.stored).toEqual([['a'], ['b'], ['c']]);
  });

  it('are stored by and by, however many there are', async () => {
    const drafts = new Drafts();
    const shared = new SharedTransactions(drafts.transact);
    const count = 100;
    await Promise.all(
      Array.from(
        { length: count },
        async (_, index) =>
          await shared.run(async () => {
            drafts.put(String(index));
            await Promise.resolve();
          }),
      ),
    );
    expect(drafts.stored.flat()).toEqual(Array.from({ length: count }, (_, index) => String(index)));
    expect(Math.max(...drafts.stored.map((draft) => draft.length))).toBe(32);
    await shared.run(async () => {
      drafts.put('later');
      await Promise.resolve();
    });
    expect(drafts.stored.at(-1)).toEqual(['later']);
  });
});

eachDatabase((database) => {
  it('events of many executions at once are stored, and a gap in one concerns no other', async () => {
    await using ledger = await openLedger({ url: await database.fresh() });
    const names = Array.from({ length: 12 }, (_, index) => `s${String(index)}`);
    for (const name of names) await recordLiveSession(ledger, name);
    const appends = names.map(
      async (name, index) =>
        await ledger.events.append(name, numbered(index === 5 ? 3 : 1, said('one'), said('two'))),
    );
    const failed = await rejection(appends[5] ?? Promise.resolve(), EventGapError);
    expect(failed).toMatchObject({ executionId: 's5', expectedSeq: 1, receivedSeq: 3 });
    await Promise.allSettled(appends);
    for (const name of names) expect(await ledger.events.cursor(name)).toBe(name === 's5' ? 0 : 2);
  });
});
