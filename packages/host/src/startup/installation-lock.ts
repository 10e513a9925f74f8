import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isNativeError } from 'node:util/types';
import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
import { InstallationLockedError, LockFileUnusableError, type LockHolder } from './installation-errors.ts';

/** The exclusive hold on an installation. The kernel drops it when this process dies, however it dies. */
export interface InstallationLock {
  release(): void;
}

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_NOT_A_DATABASE = 26;
const PRIMARY_CODE_MASK = 0xff;

// A database handle that is garbage-collected is closed, and the kernel lock goes with it.
const held = new Set<object>();

/**
 * Takes the installation lock of a home directory, or throws {@link InstallationLockedError} that names the holder
 * (OWNERSHIP-002.4), or {@link LockFileUnusableError}. Call it before anything shared is read or written.
 *
 * It is a lock that SQLite holds on a file of its own. That file must never be opened otherwise in this process, copied
 * or deleted: POSIX drops the lock when any descriptor of the file closes. The holder is named in a second file.
 */
export function acquireInstallationLock(home: string, now: Date): InstallationLock {
  const holderFile = join(home, 'installation-holder.json');
  const close = lockFile(home, holderFile);
  const release = (): void => {
    // Its name goes first: afterwards another holder's may stand there.
    rmSync(holderFile, { force: true });
    close();
  };
  try {
    const holder: LockHolder = { pid: process.pid, host: hostname(), since: now.toISOString() };
    writeFileSync(holderFile, JSON.stringify(holder), { mode: 0o600 });
  } catch (error) {
    close();
    throw error;
  }
  let released = false;
  return {
    release: () => {
      if (released) return;
      released = true;
      release();
    },
  };
}

/** Gives what lets the file go. */
function lockFile(home: string, holderFile: string): () => void {
  const file = join(home, 'installation.lock');
  const { DatabaseSync } = loadNodeSqlite();
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(file);
    // A short wait, not none: two openers that meet between SHARED and EXCLUSIVE would both be refused. The uncommitted
    // write makes a read-only file fail instead of seeming to be locked.
    database.exec(
      'PRAGMA busy_timeout = 100; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = 1;',
    );
  } catch (error) {
    database?.close();
    const code = primaryCode(error);
    if (code === SQLITE_BUSY || code === SQLITE_LOCKED) {
      throw new InstallationLockedError(home, readHolder(holderFile));
    }
    throw new LockFileUnusableError(file, whyUnusable(code, error), error);
  }
  const lock = database;
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}

function whyUnusable(code: number | undefined, error: unknown): string {
  if (code === SQLITE_NOT_A_DATABASE) return 'it holds something that no host has written';
  if (code === SQLITE_READONLY) return 'it cannot be written to';
  return isNativeError(error) ? error.message : String(error);
}

function primaryCode(error: unknown): number | undefined {
  if (!isNativeError(error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & PRIMARY_CODE_MASK;
}

function readHolder(file: string): LockHolder | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value !== 'object' || value === null) return null;
    const { pid, host, since } = Object.fromEntries(Object.entries(value));
    return typeof pid === 'number' && typeof host === 'string' && typeof since === 'string'
      ? { pid, host, since }
      : null;
  } catch {
    return null;
  }
}
