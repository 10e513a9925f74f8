import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@holdfast/turn-ledger';
import { HostEvents, type HostEvent } from '../src/host-events.ts';
import { LedgerPatience } from '../src/sessions/ledger-patience.ts';

const PLACE = 'postgres://db/main';

function away(
  with_: { reason?: 'connection_lost' | 'closed'; mayBeStored?: boolean } = {},
): LedgerUnavailableError {
  return new LedgerUnavailableError({ reason: 'cannot_connect', path: PLACE, ...with_ });
}

/** A patience, and what it publishes. */
function aPatience(isCertain = () => true): { patience: LedgerPatience; published: HostEvent[] } {
  const published: HostEvent[] = [];
  const events = new HostEvents();
  events.subscribe((event) => published.push(event));
  return { patience: new LedgerPatience({ events, isCertain, place: PLACE }), published };
}

/** Work that fails so many times. */
function failing(times: number, error: () => Error): (inDoubt: boolean) => Promise<boolean[]> {
  const tries: boolean[] = [];
  return async (inDoubt) => {
    tries.push(inDoubt);
    if (tries.length <= times) throw error();
    return await Promise.resolve(tries);
  };
}

const forever = new AbortController().signal;

describe('patience with a ledger that is away', () => {
  it('tries until it is back, and tells of the outage once, whoever waits', async () => {
    const { patience, published } = aPatience();
    let failures = 5;
    const work = async (): Promise<void> => {
      failures -= 1;
      if (failures >= 0) throw away();
      await Promise.resolve();
    };
    await Promise.all([patience.insist(work, forever), patience.insist(work, forever)]);
    expect(published).toEqual([
      {
        name: 'ledger.unavailable',
        place: PLACE,
        reason: 'cannot_connect',
        detail: expect.stringContaining(PLACE),
      },
      { name: 'ledger.available', awayMs: expect.any(Number) },
    ]);
  });

  it('says to the next try that the one before may have been stored', async () => {
    const { patience } = aPatience();
    const work = failing(1, () => away({ reason: 'connection_lost', mayBeStored: true }));
    expect(await patience.insist(work, forever)).toEqual([false, true]);
  });

  it('gives up at once for other errors and for a ledger that was closed', async () => {
    const { patience, published } = aPatience();
    await expect(
      patience.insist(
        failing(1, () => new Error('a bug')),
        forever,
      ),
    ).rejects.toThrow('a bug');
    await expect(
      patience.insist(
        failing(1, () => away({ reason: 'closed' })),
        forever,
      ),
    ).rejects.toMatchObject({
      reason: 'closed',
    });
    expect(published).toEqual([]);
  });

  it('ends with the signal, in the middle of waiting', async () => {
    const { patience } = aPatience();
    const over = new AbortController();
    const waiting = patience.insist(failing(1_000, away), over.signal);
    over.abort(new Error('the host was closed'));
    await expect(waiting).rejects.toThrow('the host was closed');
  });

  it('does nothing while it is not certain whose the installation is', async () => {
    let certain = false;
    const { patience, published } = aPatience(() => certain);
    expect(() => {
      patience.assertCertain();
    }).toThrow(/connection_lost, its lock is being taken again/);
    const work = failing(0, away);
    const waiting = patience.insist(work, forever);
    certain = true;
    expect(await waiting).toEqual([false]);
    expect(published.map(({ name }) => name)).toEqual(['ledger.unavailable', 'ledger.available']);
  });

  it('does now what it can, and later what it cannot', async () => {
    const { patience, published } = aPatience();
    const done = Promise.withResolvers<boolean[]>();
    const work = failing(2, away);
    await patience.nowOrLater(
      'something',
      async () => {
        done.resolve(await work(false));
      },
      forever,
    );
    expect(await done.promise).toHaveLength(3);
    const broken = async (): Promise<void> => await Promise.reject(new Error('a bug'));
    await expect(patience.nowOrLater('something', broken, forever)).rejects.toThrow('a bug');
    const errors = [away(), new Error('a bug')];
    await patience.nowOrLater(
      'something',
      async () => await Promise.reject(errors.shift() ?? away()),
      forever,
    );
    await patience.insist(failing(1, away), forever);
    expect(published).toContainEqual({ name: 'host.error', what: 'something', error: new Error('a bug') });
  });
});
