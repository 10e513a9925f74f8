import { AsyncLocalStorage } from 'node:async_hooks';
import {
  LedgerUnavailableError,
  NestedTransactionError,
  type LedgerUnavailableReason,
} from './ledger-errors.ts';
import { CommitInDoubtError } from './postgres/commit-in-doubt-error.ts';
import type { LedgerReader, LedgerTransaction } from './schema.ts';

/** The one way to the tables. Work that is handed in uses what it is given and nothing else of the ledger. */
export interface LedgerDatabase {
  /** Reads what is committed. */
  read<T>(work: (db: LedgerReader) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction: all of it is stored, or nothing. It may run several times when another process is in the
   * way or a connection breaks, so it changes nothing but the tables.
   */
  transact<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T>;
  /**
   * As {@link LedgerDatabase.transact}, for a work that depends on no other and comes often: where all goes over one connection,
   * those that come at the same time share a transaction. One that fails takes no other with it.
   */
  transactTogether<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T>;
  /** Lets what is under way finish, then closes. Everything after that is refused as `closed`. */
  close(): Promise<void>;
}

/** How works reach the tables, each on its own. */
export interface DatabaseAccess {
  read<T>(work: (db: LedgerReader) => Promise<T>): Promise<T>;
  /** Stores all that the work did when it resolves, and nothing when it rejects. */
  transact<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T>;
  /** As `transact`; those that come at the same time may share a transaction. One that fails takes no other with it. */
  transactTogether<T>(work: (trx: LedgerTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** What an error of the database means; null: it says nothing about the database, e.g. a broken constraint. */
export type ClassifyDatabaseError = (error: unknown) => LedgerUnavailableReason | null;

/** What a ledger needs of its surroundings. */
export interface DatabaseContext {
  /** The database file, or the address of the database without its secrets; for errors. */
  readonly path: string;
  readonly classify: ClassifyDatabaseError;
  /** What exactly is wrong, fit to be shown; undefined where the reason alone says it. */
  readonly told: (error: unknown) => string | undefined;
  /** Waits before another try; `attempt` counts from 1. */
  readonly pause: (attempt: number) => Promise<void>;
}

/** How often work is run before its trouble is reported. A reason that is not here is reported at once. */
const MAX_ATTEMPTS: Partial<Record<LedgerUnavailableReason, number>> = {
  busy: 10,
  // Connections that lay idle may all have broken; a server that is gone takes no new ones, which is reported at once.
  connection_lost: 3,
};

export function ledgerDatabase(access: DatabaseAccess, context: DatabaseContext): LedgerDatabase {
  const { path } = context;
  const inside = new AsyncLocalStorage<true>();
  const underWay = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  const track = async <T>(work: () => Promise<T>): Promise<T> => {
    if (inside.getStore() === true) throw new NestedTransactionError();
    if (closing !== undefined) throw new LedgerUnavailableError({ reason: 'closed', path });
    const running = inside.run(true, withRetries<T>, work, context);
    underWay.add(running);
    try {
      return await running;
    } finally {
      underWay.delete(running);
    }
  };
  return {
    read: async (work) => await track(async () => await access.read(work)),
    transact: async (work) => await track(async () => await access.transact(work)),
    transactTogether: async (work) => await track(async () => await access.transactTogether(work)),
    async close() {
      closing ??= (async () => {
        await Promise.allSettled(underWay);
        await access.close();
      })();
      await closing;
    },
  };
}

/** Runs work again while another process is in its way, or on another connection; any other trouble of the database becomes `LedgerUnavailableError`. */
export async function withRetries<T>(work: () => Promise<T>, context: DatabaseContext): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const reason = context.classify(error);
      if (reason === null) throw error;
      const mayBeStored = error instanceof CommitInDoubtError;
      if (mayBeStored || attempt >= (MAX_ATTEMPTS[reason] ?? 1)) {
        const detail = context.told(error);
        throw new LedgerUnavailableError({
          reason,
          path: context.path,
          mayBeStored,
          ...(detail === undefined ? {} : { detail }),
          cause: error,
        });
      }
      await context.pause(attempt);
    }
  }
}
