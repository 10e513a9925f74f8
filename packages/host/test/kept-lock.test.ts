import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '@holdfast/recovery';
import { until } from '@holdfast/testbeds';
import {
  SharedLockHeldError,
  SharedLockLostError,
  SharedLockUnavailableError,
} from '../src/startup/installation-errors.ts';
import type { HostEvent } from '../src/host-events.ts';
import { keepLock, type CountedLock, type KeptLock } from '../src/startup/kept-lock.ts';

const PLACE = 'postgres://db/main';

/** What an attempt to take the lock comes to: its epoch, or an error. */
type Attempt = bigint | null | Error;

/** A keeper of locks that answers as it is told; the last answer stays. */
class Keeper {
  readonly published: HostEvent[] = [];
  readonly released: Array<bigint | null> = [];
  tries = 0;
  readonly #attempts: Attempt[];
  #broken = new AbortController();

  constructor(...attempts: Attempt[]) {
    this.#attempts = attempts;
  }

  async keep(): Promise<KeptLock> {
    return await keepLock({
      acquire: async () => await this.#acquire(),
      clock: systemClock,
      events: { publish: (event) => this.published.push(event) },
      signal: new AbortController().signal,
    });
  }

  break(): void {
    this.#broken.abort(new SharedLockLostError(PLACE, 'the connection ended', null));
  }

  async #acquire(): Promise<CountedLock> {
    this.tries += 1;
    const attempt = this.#attempts.length > 1 ? this.#attempts.shift() : this.#attempts[0];
    if (attempt instanceof Error || attempt === undefined) throw attempt ?? new Error('told nothing');
    this.#broken = new AbortController();
    const release = async (): Promise<void> => {
      this.released.push(attempt);
      await Promise.resolve();
    };
    return await Promise.resolve({ place: PLACE, epoch: attempt, lost: this.#broken.signal, release });
  }

  async told(name: HostEvent['name']): Promise<void> {
    await until(() => this.published.some((event) => event.name === name), {
      reason: `${name} to be told`,
      withinMs: 60_000,
    });
  }
}

const AWAY = new SharedLockUnavailableError(PLACE, 'connection refused', null);
const heldBy = (pid: number): SharedLockHeldError =>
  new SharedLockHeldError(PLACE, { pid, host: hostname().slice(0, 40), since: null });

async function lost(lock: KeptLock): Promise<unknown> {
  return await until(() => lock.lost.aborted && (lock.lost.reason as unknown), {
    reason: 'the lock to be lost',
    withinMs: 60_000,
  });
}

describe('a lock whose keeper was away', () => {
  it('is taken again, as often as needed, and nothing is certain meanwhile [OWNERSHIP-002.4]', async () => {
    const keeper = new Keeper(7n, AWAY, heldBy(process.pid), AWAY, 8n, 9n);
    const lock = await keeper.keep();
    expect(lock.isCertain()).toBe(true);
    keeper.break();
    expect(lock.isCertain()).toBe(false);
    await keeper.told('lock.retaken');
    expect(lock.isCertain()).toBe(true);
    expect(keeper.tries).toBe(5);
    keeper.break();
    await until(() => keeper.tries === 6 && lock.isCertain(), { reason: 'a second time', withinMs: 60_000 });
    expect(lock.lost.aborted).toBe(false);
    expect(keeper.published.map(({ name }) => name)).toEqual([
      'lock.broken',
      'lock.retaken',
      'lock.broken',
      'lock.retaken',
    ]);
    await lock.release();
    expect(keeper.released).toEqual([9n]);
  });

  it.each<[string, Attempt, RegExp]>([
    ['is held by another', heldBy(process.pid + 1), /is held by process/],
    ['was held by another meanwhile', 9n, /another host has held it meanwhile/],
    ['cannot be counted any more', null, /another host has held it meanwhile/],
  ])('is lost when it %s', async (_what, attempt, said) => {
    const keeper = new Keeper(7n, AWAY, attempt);
    const lock = await keeper.keep();
    keeper.break();
    const reason = await lost(lock);
    expect(reason).toBeInstanceOf(SharedLockLostError);
    expect(String(reason)).toMatch(said);
    expect(lock.isCertain()).toBe(false);
    await lock.release();
    // What was taken too late was given back.
    expect(keeper.released[0]).toBe(attempt instanceof Error ? 7n : attempt);
  });

  it('is lost at once where holders cannot be counted', async () => {
    const keeper = new Keeper(null);
    const lock = await keeper.keep();
    keeper.break();
    expect(lock.lost.aborted).toBe(true);
    expect(keeper.tries).toBe(1);
    await lock.release();
  });

  it('can be let go while it is being taken again', async () => {
    const keeper = new Keeper(7n, AWAY);
    const lock = await keeper.keep();
    keeper.break();
    await until(() => keeper.tries > 1, { reason: 'another try', withinMs: 60_000 });
    await lock.release();
    const { tries } = keeper;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(keeper.tries).toBe(tries);
    expect(lock.lost.aborted).toBe(false);
  });
});
