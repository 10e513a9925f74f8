import { z } from 'zod';
import { controlServerStore, type ControlServers } from './control-servers/control-server-store.ts';
import { openDatabase } from './database/open-database.ts';
import type { PoolSettings, PostgresOptions } from './database/postgres/postgres-options.ts';
import { checkInput } from './database/stored-values.ts';
import { eventStore, type EventLog } from './events/event-store.ts';
import { executionRecords, type ExecutionRecords } from './executions/execution-records.ts';
import { executionWriter, type ExecutionWriter } from './executions/execution-writer.ts';
import { ledgerLocation } from './ledger-url.ts';
import { outcomeEffects, type MapOutcome } from './outcomes/outcome-effects.ts';
import { outcomeStore, type Outcomes } from './outcomes/outcome-store.ts';
import { reconcile, type ReconcilePlan, type ReconciledSession } from './reconciliation/reconcile.ts';
import { sessionStore, type Sessions } from './sessions/session-store.ts';
import { taskStore, type Tasks } from './tasks/task-store.ts';
import { turnStore, type Turns } from './turns/turn-store.ts';

/** Where a ledger is, and what it needs of its surroundings. */
export interface LedgerOptions {
  /**
   * An absolute file path, `sqlite:` and an absolute file path, or `:memory:`; the directory must exist. Or a `postgres:` URL of
   * a database that exists; that needs the package `pg`.
   */
  readonly url: string;
  /** How to use the server of a `postgres:` URL. */
  readonly postgres?: PostgresOptions;
  /** Gives epoch milliseconds; the system's clock unless told. */
  readonly clock?: () => number;
  /** What the end of a turn changes; {@link outcomeEffects} unless told. */
  readonly mapOutcome?: MapOutcome;
}

/**
 * The durable memory of a backend. Every method that writes is one transaction: when its promise is fulfilled, the change is
 * on the disk. Any of them throws {@link LedgerUnavailableError} when the database is lost. One process at a time may have a
 * ledger open; the host's installation lock sees to that.
 */
export interface Ledger extends AsyncDisposable {
  readonly tasks: Tasks;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly outcomes: Outcomes;
  readonly events: EventLog;
  /** The read port of the recovery inventory. */
  readonly executionRecords: ExecutionRecords;
  /** Its single writer. */
  readonly executionWriter: ExecutionWriter;
  readonly controlServers: ControlServers;
  /** Makes sessions truthful that could not be re-tracked when a backend started. */
  reconcile(plan: ReconcilePlan): Promise<readonly ReconciledSession[]>;
  /** Lets what is under way finish, then closes the database. May be called again. */
  close(): Promise<void>;
}

const PostgresSettings = z.object({
  poolSize: z.int().min(1).max(1000).default(10),
  connectTimeoutMs: z.int().min(1).max(600_000).default(10_000),
}) satisfies z.ZodType<PoolSettings>;

/**
 * Opens a ledger, and brings its tables up to date. Throws {@link LedgerUrlError}, {@link LedgerUnavailableError} with the
 * path, {@link LedgerTooNewError} when a later version wrote it, `NodeSqliteMissingError` on a Node without SQLite, and
 * {@link PgMissingError} without the package `pg`.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { clock = Date.now, mapOutcome = outcomeEffects } = options;
  const postgres = checkInput('option postgres', PostgresSettings, options.postgres ?? {});
  const database = await openDatabase(ledgerLocation(options.url), postgres);
  return {
    tasks: taskStore(database, clock),
    sessions: sessionStore(database, clock),
    turns: turnStore(database, clock),
    outcomes: outcomeStore(database, { clock, mapOutcome }),
    events: eventStore(database, { clock, mapOutcome }),
    executionRecords: executionRecords(database),
    executionWriter: executionWriter(database, clock),
    controlServers: controlServerStore(database, clock),
    reconcile: async (plan) => await reconcile(database, plan, clock),
    close: async () => {
      await database.close();
    },
    async [Symbol.asyncDispose]() {
      await database.close();
    },
  };
}
