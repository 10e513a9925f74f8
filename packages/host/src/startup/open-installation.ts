import { constants } from 'node:fs';
import { access, mkdir, realpath } from 'node:fs/promises';
import { isNativeError } from 'node:util/types';
import { HomeUnusableError, InstallationLockedError, LockFileUnusableError } from './installation-errors.ts';
import { acquireInstallationLock, type InstallationLock } from './installation-lock.ts';

/** A home directory that exists, can be written to, and is ours while the lock is held. */
export interface Installation {
  /** Without symbolic links, so that it has one name in every process. */
  readonly home: string;
  readonly lock: InstallationLock;
}

/**
 * Makes the home directory where it is missing and takes its lock. Throws {@link HomeUnusableError},
 * `LockFileUnusableError` or `InstallationLockedError`; nothing else is touched.
 */
export async function openInstallation(home: string, now: Date): Promise<Installation> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
    const resolved = await realpath(home);
    return { home: resolved, lock: acquireInstallationLock(resolved, now) };
  } catch (error) {
    if (error instanceof InstallationLockedError || error instanceof LockFileUnusableError) throw error;
    throw new HomeUnusableError(home, isNativeError(error) ? error.message : String(error), error);
  }
}
