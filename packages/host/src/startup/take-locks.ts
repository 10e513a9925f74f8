import { systemClock } from '@holdfast/recovery';
import type { CheckedHostOptions } from '../host-options.ts';
import type { HostEvents } from '../host-events.ts';
import type { ClosingStack } from './closing-stack.ts';
import { keepLock, type CountedLock } from './kept-lock.ts';
import { openInstallation } from './open-installation.ts';
import { acquirePostgresLock } from './postgres-lock.ts';

/** An installation that is this host's alone. */
export interface LockedInstallation {
  readonly home: string;
  /** Aborts when that has ended by itself. The lock of a home cannot; never without a shared lock. */
  readonly lost: AbortSignal;
  /** False while a shared lock whose keeper was away is being taken again. */
  readonly isCertain: () => boolean;
}

// There is one for a database: hosts that share it share what they act on.
const SHARED_LOCK_NAME = 'ledger';

/**
 * Takes the lock of the home, then the shared one where it is asked for, or where the ledger is in PostgreSQL. Throws their
 * errors; what was taken by then is given back by the closing stack.
 */
export async function takeLocks(
  options: Pick<CheckedHostOptions, 'home' | 'sharedLock' | 'keepsSharedLock' | 'signal'>,
  opened: ClosingStack,
  events: HostEvents,
): Promise<LockedInstallation> {
  const { home: given, sharedLock: url, keepsSharedLock: counted, signal } = options;
  const { home, lock } = await openInstallation(given, new Date());
  opened.add(() => {
    lock.release();
  });
  if (url === null) return { home, lost: new AbortController().signal, isCertain: () => true };
  const acquire = async (until: AbortSignal): Promise<CountedLock> =>
    await acquirePostgresLock({ url, name: SHARED_LOCK_NAME, clock: systemClock, signal: until, counted });
  const shared = await keepLock({ acquire, clock: systemClock, events, signal });
  opened.add(async () => {
    await shared.release();
  });
  return { home, lost: shared.lost, isCertain: shared.isCertain };
}
