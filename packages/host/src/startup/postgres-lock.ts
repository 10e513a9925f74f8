import { Socket } from 'node:net';
import { hostname } from 'node:os';
import { isNativeError } from 'node:util/types';
import type { Clock } from '@holdfast/recovery';
import type { Client, ClientConfig } from 'pg';
import {
  SharedLockHeldError,
  SharedLockLostError,
  SharedLockUnavailableError,
} from './installation-errors.ts';
import { postgresPlace } from '@holdfast/turn-ledger/postgres-url';
import type { CountedLock } from './kept-lock.ts';
import { holderName, holderNamed, sharedLockKey } from './shared-lock.ts';

/** Which lock to take, and where. */
export interface PostgresLockOptions {
  /** A `postgres:` URL. The lock belongs to a session of the server, so a pooler that shares sessions must not stand between. */
  readonly url: string;
  /** What is locked; hosts that name the same in the same database keep each other out. */
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Count the holders in a table of the database, `holdfast_lock_holders`. Default: no. */
  readonly counted?: boolean;
}

const CONNECT_TIMEOUT_MS = 10_000;
const QUERY_TIMEOUT_MS = 5000;
// A holder that cannot ask for this and the query timeout gives up, well before the server drops its silent connection.
const LOOK_EVERY_MS = 5000;
// The server needs a moment to notice that a killed holder's connection is gone.
const PATIENCE_MS = 1000;
const TRY_AGAIN_AFTER_MS = 50;
const FAREWELL_MS = 2000;

// Keep-alives find a holder whose machine is gone after 15 + 3 × 5 s; a Unix socket takes no notice of them.
const SETTINGS = `select set_config('application_name', $1, false), set_config('tcp_keepalives_idle', '15', false),
  set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false)`;
const TRY = 'select pg_try_advisory_lock($1::bigint) as taken';
// How pg_locks shows an advisory lock on one bigint.
const THIS_LOCK = `l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint`;
const HOLDER = `select a.application_name as name, a.backend_start as since
  from pg_locks l join pg_stat_activity a using (pid) where ${THIS_LOCK}`;
const HOLDERS =
  'create table if not exists holdfast_lock_holders (name text primary key, epoch bigint not null)';
const COUNT = `insert into holdfast_lock_holders as h (name, epoch) values ($1, 1)
  on conflict (name) do update set epoch = h.epoch + 1 returning epoch::text as epoch`;
// insufficient_privilege, invalid_schema_name, read_only_sql_transaction
const MAY_NOT_WRITE: ReadonlySet<string> = new Set(['42501', '3F000', '25006']);
const STILL_MINE = `select 1 from pg_locks l where l.pid = pg_backend_pid() and ${THIS_LOCK}`;

/**
 * Takes a session-level advisory lock on a connection of its own (OWNERSHIP-002.4, BEYOND-03), or throws {@link SharedLockHeldError}
 * that names the holder, or {@link SharedLockUnavailableError}. The server drops the lock when the connection ends, however
 * this process dies. Until it is released the connection keeps the process up.
 */
export async function acquirePostgresLock(options: PostgresLockOptions): Promise<CountedLock> {
  const { url, clock, signal } = options;
  let epoch: bigint | null = null;
  const place = postgresPlace(url);
  const key = String(sharedLockKey(options.name));
  const socket = new Socket();
  const client = await newClient(place, {
    connectionString: url,
    stream: () => socket,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  const lost = new AbortController();
  let released = false;
  const lose = (cause: unknown): void => {
    if (!released && !lost.signal.aborted)
      lost.abort(new SharedLockLostError(place, messageOf(cause), cause));
  };
  // Without a listener a broken connection would end this process.
  client.on('error', lose);
  client.on('end', () => {
    lose(new Error('the connection ended'));
  });

  const farewell = async (): Promise<void> => {
    released = true;
    await endWithin(client, socket, clock);
  };
  try {
    await client.connect();
    await client.query(SETTINGS, [holderName(process.pid, hostname())]);
    await take(client, { key, place, clock, signal });
    if (options.counted === true) epoch = await countHolder(client, options.name);
  } catch (error) {
    await farewell();
    if (error instanceof SharedLockHeldError || signal.aborted) throw error;
    throw new SharedLockUnavailableError(place, messageOf(error), error);
  }
  const stopLooking = lookAgainAndAgain(client, key, { clock, lose });
  return {
    place,
    epoch,
    lost: lost.signal,
    async release() {
      stopLooking();
      await farewell();
    },
  };
}

/** Counts this holder; null where the database lets nobody write that down. */
async function countHolder(client: Client, name: string): Promise<bigint | null> {
  try {
    await client.query(HOLDERS);
    const { rows } = await client.query<{ epoch: string }>(COUNT, [name]);
    return BigInt(rows[0]?.epoch ?? '');
  } catch (error) {
    if (isNativeError(error) && 'code' in error && MAY_NOT_WRITE.has(String(error.code))) return null;
    throw error;
  }
}

async function newClient(place: string, config: ClientConfig): Promise<Client> {
  try {
    const { Client: PostgresClient } = await import('pg');
    return new PostgresClient(config);
  } catch (error) {
    const missing = isNativeError(error) && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    const why = missing ? 'the package pg is not installed; add it to your application' : messageOf(error);
    throw new SharedLockUnavailableError(place, why, error);
  }
}

async function take(
  client: Client,
  {
    key,
    place,
    clock,
    signal,
  }: Pick<PostgresLockOptions, 'clock' | 'signal'> & { key: string; place: string },
): Promise<void> {
  const deadline = clock.now() + PATIENCE_MS;
  for (;;) {
    signal.throwIfAborted();
    const tried = await client.query<{ taken: boolean }>(TRY, [key]);
    if (tried.rows[0]?.taken === true) return;
    if (clock.now() >= deadline) break;
    await new Promise<void>((resolve) => {
      clock.after(TRY_AGAIN_AFTER_MS, resolve);
    });
  }
  const held = await client.query<{ name: string | null; since: Date | null }>(HOLDER, [key]);
  const { name, since } = held.rows[0] ?? { name: null, since: null };
  throw new SharedLockHeldError(place, holderNamed(name, since));
}

/** A connection can be dead without a word. Gives what stops the looking. */
function lookAgainAndAgain(
  client: Client,
  key: string,
  { clock, lose }: { readonly clock: Clock; readonly lose: (cause: unknown) => void },
): () => void {
  let stopped = false;
  let cancel: () => void;
  const look = async (): Promise<void> => {
    try {
      const { rows } = await client.query(STILL_MINE, [key]);
      if (rows.length === 0) throw new Error('the server knows nothing of it any more');
      if (!stopped) schedule();
    } catch (error) {
      lose(error);
    }
  };
  const schedule = (): void => {
    cancel = clock.inBackground(LOOK_EVERY_MS, () => void look());
  };
  schedule();
  return () => {
    stopped = true;
    cancel();
  };
}

/** Ends the connection, and does not wait long for a server that no longer answers. */
async function endWithin(client: Client, socket: Socket, clock: Clock): Promise<void> {
  const cancel = clock.after(FAREWELL_MS, () => {
    socket.destroy();
  });
  try {
    await client.end();
  } catch {
    // It was broken already, and the lock is gone with it.
  } finally {
    cancel();
  }
}

function messageOf(error: unknown): string {
  // A refused connection to several addresses is an AggregateError without words of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return isNativeError(error) ? error.message : String(error);
}
