import { HostError } from '../host-errors.ts';

/** The home directory cannot be used. */
export class HomeUnusableError extends HostError {
  override readonly name = 'HomeUnusableError';
  readonly code = 'home_unusable';
  readonly home: string;

  constructor(home: string, why: string, cause: unknown) {
    super(`the home directory ${home} cannot be used: ${why}; give a directory that this user can write to`, {
      cause,
    });
    this.home = home;
  }
}

/** The lock file of a home directory cannot be used, whoever holds the installation. */
export class LockFileUnusableError extends HostError {
  override readonly name = 'LockFileUnusableError';
  readonly code = 'lock_file_unusable';
  readonly file: string;

  constructor(file: string, why: string, cause: unknown) {
    super(
      `the lock file ${file} cannot be used: ${why}; while no backend runs, move it away or make it writable`,
      { cause },
    );
    this.file = file;
  }
}

/** Who holds an installation, as far as it could be read. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** RFC 3339, UTC; null when it is not told. */
  readonly since: string | null;
}

function describeHolder(holder: LockHolder | null): string {
  if (holder === null) return 'another process';
  const since = holder.since === null ? '' : `, since ${holder.since}`;
  return `process ${String(holder.pid)} on ${holder.host}${since}`;
}

/** Another backend acts on this installation (OWNERSHIP-002.4). Nothing shared was read or written. */
export class InstallationLockedError extends HostError {
  override readonly name = 'InstallationLockedError';
  readonly code = 'installation_locked';
  readonly home: string;
  /** Null when the holder has not written its name yet. */
  readonly holder: LockHolder | null;

  constructor(home: string, holder: LockHolder | null) {
    super(
      `the installation ${home} is held by ${describeHolder(holder)}; end that backend first, or use another home`,
    );
    this.home = home;
    this.holder = holder;
  }
}

/** A backend, on this or another machine, holds the shared lock (OWNERSHIP-002.4). Nothing shared was read or written. */
export class SharedLockHeldError extends HostError {
  override readonly name = 'SharedLockHeldError';
  readonly code = 'shared_lock_held';
  /** Where the lock is kept. */
  readonly place: string;
  /** Null when the holder went away meanwhile, or is no host. */
  readonly holder: LockHolder | null;

  constructor(place: string, holder: LockHolder | null) {
    super(`the shared lock in ${place} is held by ${describeHolder(holder)}; end that backend first`);
    this.place = place;
    this.holder = holder;
  }
}

/** Whether another backend holds the shared lock cannot be told. Nothing shared was read or written. */
export class SharedLockUnavailableError extends HostError {
  override readonly name = 'SharedLockUnavailableError';
  readonly code = 'shared_lock_unavailable';
  readonly place: string;

  constructor(place: string, why: string, cause: unknown) {
    super(`the shared lock in ${place} cannot be taken: ${why}`, { cause });
    this.place = place;
  }
}

/** The shared lock was lost, so another backend may act by now: this host acts no more. Agents live on. */
export class SharedLockLostError extends HostError {
  override readonly name = 'SharedLockLostError';
  readonly code = 'shared_lock_lost';
  readonly place: string;

  constructor(place: string, why: string, cause: unknown) {
    super(
      `the shared lock in ${place} was lost: ${why}; this host acts no more, close it and start another`,
      { cause },
    );
    this.place = place;
  }
}
