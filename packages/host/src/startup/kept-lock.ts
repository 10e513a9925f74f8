import { hostname } from 'node:os';
import type { Clock } from '@holdfast/recovery';
import { SharedLockHeldError, SharedLockLostError } from './installation-errors.ts';
import type { HostEvents } from '../host-events.ts';
import { LONGEST_HOST, type SharedLock } from './shared-lock.ts';

/** A shared lock that counts its holders. */
export interface CountedLock extends SharedLock {
  /** One more than when it was taken before, by whomever; null where that cannot be counted. */
  readonly epoch: bigint | null;
}

/** A shared lock that is taken again when its connection breaks. */
export interface KeptLock extends SharedLock {
  /** False while it is being taken again: then nothing may be written. */
  readonly isCertain: () => boolean;
}

/** What keeping a lock needs. */
export interface KeepLock {
  readonly acquire: (signal: AbortSignal) => Promise<CountedLock>;
  readonly clock: Clock;
  readonly events: Pick<HostEvents, 'publish'>;
  readonly signal: AbortSignal;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/**
 * Takes a lock, and takes it again when its keeper was away, which ends every lock it kept. It is lost only when somebody else
 * has it, or has had it meanwhile, which the count of holders tells (OWNERSHIP-002.4).
 */
export async function keepLock({ acquire, clock, events, signal }: KeepLock): Promise<KeptLock> {
  let current = await acquire(signal);
  let certain = true;
  const { place } = current;
  const lost = new AbortController();
  const released = new AbortController();
  let taking: Promise<void> | undefined;

  const lose = (why: string, cause: unknown): void => {
    if (!released.signal.aborted) lost.abort(new SharedLockLostError(place, why, cause));
  };
  const takeAgain = async (broken: unknown): Promise<void> => {
    const before = current.epoch;
    if (before === null) {
      lost.abort(broken);
      return;
    }
    certain = false;
    events.publish({
      name: 'lock.broken',
      place,
      detail: broken instanceof Error ? broken.message : String(broken),
    });
    for (
      let pauseMs = FIRST_PAUSE_MS;
      !released.signal.aborted;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      try {
        const again = await acquire(released.signal);
        if (again.epoch !== before + 1n) {
          await again.release();
          lose('another host has held it meanwhile', broken);
          return;
        }
        current = again;
        certain = true;
        watch();
        events.publish({ name: 'lock.retaken', place });
        return;
      } catch (error) {
        // The keeper may still know of the connection that broke.
        if (error instanceof SharedLockHeldError && !isOurs(error)) {
          lose(error.message, error);
          return;
        }
      }
      await pause(clock, pauseMs, released.signal);
    }
  };
  const watch = (): void => {
    const { lost: broken } = current;
    broken.addEventListener(
      'abort',
      () => {
        taking = takeAgain(broken.reason);
      },
      { once: true },
    );
  };
  watch();
  return {
    place,
    lost: lost.signal,
    isCertain: () => certain,
    async release() {
      released.abort();
      await taking;
      await current.release();
    },
  };
}

function isOurs({ holder }: SharedLockHeldError): boolean {
  return holder?.pid === process.pid && holder.host === hostname().slice(0, LONGEST_HOST);
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.after(ms, resolve);
    signal.addEventListener(
      'abort',
      () => {
        cancel();
        resolve();
      },
      { once: true },
    );
  });
}
