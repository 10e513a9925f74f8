import { systemClock } from '@holdfast/recovery';
import type { CheckedHostOptions } from '../host-options.ts';
import type { ClosingStack } from './closing-stack.ts';
import { openInstallation } from './open-installation.ts';
import { acquirePostgresLock } from './postgres-lock.ts';

/** An installation that is this host's alone. */
export interface LockedInstallation {
  readonly home: string;
  /** Aborts when that has ended by itself. The lock of a home cannot; never without a shared lock. */
  readonly lost: AbortSignal;
}

// There is one for a database: hosts that share it share what they act on.
const SHARED_LOCK_NAME = 'ledger';

/**
 * Takes the lock of the home, then the shared one where it is asked for. Throws their errors; what was taken by then is given
 * back by the closing stack.
 */
export async function takeLocks(
  { home: given, sharedLock: url, signal }: Pick<CheckedHostOptions, 'home' | 'sharedLock' | 'signal'>,
  opened: ClosingStack,
): Promise<LockedInstallation> {
  const { home, lock } = await openInstallation(given, new Date());
  opened.add(() => {
    lock.release();
  });
  if (url === null) return { home, lost: new AbortController().signal };
  const shared = await acquirePostgresLock({ url, name: SHARED_LOCK_NAME, clock: systemClock, signal });
  opened.add(async () => {
    await shared.release();
  });
  return { home, lost: shared.lost };
}
