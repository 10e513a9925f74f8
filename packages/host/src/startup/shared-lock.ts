import { createHash } from 'node:crypto';
import type { LockHolder } from './installation-errors.ts';

/**
 * The exclusive hold on what hosts on several machines share. Its keeper drops it when the holder's connection dies, so a holder
 * whose connection is gone has lost it and must stop acting.
 */
export interface SharedLock {
  /** Where it is kept, for a person; never a secret. */
  readonly place: string;
  /** Aborts with a `SharedLockLostError` when the lock is held no more, unless it was released. */
  readonly lost: AbortSignal;
  /** Resolves when the keeper has let it go, or does so by itself. */
  release(): Promise<void>;
}

/** The number under which a shared lock of that name is known: the same on every machine, a signed 64-bit integer. */
export function sharedLockKey(name: string): bigint {
  return createHash('sha256').update(`holdfast installation ${name}`).digest().readBigInt64BE(0);
}

// PostgreSQL cuts an application name at 63 bytes.
export const LONGEST_HOST = 40;

/** How a holder is named to those it keeps out: the `application_name` of its connection. */
export function holderName(pid: number, host: string): string {
  return `holdfast ${String(pid)}@${host.slice(0, LONGEST_HOST)}`;
}

/** The holder that a connection of that name and start belongs to, or null when it is not named like one. */
export function holderNamed(name: string | null, since: Date | null): LockHolder | null {
  const [, pid, host] = /^holdfast (\d+)@(.+)$/.exec(name ?? '') ?? [];
  if (pid === undefined || host === undefined) return null;
  return { pid: Number(pid), host, since: since?.toISOString() ?? null };
}
