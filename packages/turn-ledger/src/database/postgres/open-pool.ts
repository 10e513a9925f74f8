import type { Pool, PoolConfig } from 'pg';
import { LedgerUrlError } from '../../ledger-url.ts';
import { loadPg } from './load-pg.ts';
import type { PoolSettings } from './postgres-options.ts';

/** After so long without an answer a connection is given up. A network that is gone says nothing. */
const ANSWER_WITHIN_MS = 30_000;
/** Type oid of `bigint`. */
const INT8 = 20;

/** Makes a pool; nothing is connected yet. Throws `PgMissingError`, or {@link LedgerUrlError} for what `pg` cannot read. */
export async function openPool(url: string, settings: PoolSettings): Promise<Pool> {
  const pg = await loadPg();
  const getTypeParser: (oid: number, format?: 'text' | 'binary') => (text: string) => unknown =
    pg.types.getTypeParser;
  const config: PoolConfig = {
    connectionString: url,
    max: settings.poolSize,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: ANSWER_WITHIN_MS,
    keepAlive: true,
    // For this pool only: the parsers of `pg` itself are everybody's.
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary'): ((text: string) => unknown) => {
        if (oid === INT8) return safeInteger;
        return getTypeParser(oid, format);
      },
    },
  };
  try {
    // Reads the url, and the files that it may name, and connects to nothing.
    void new pg.Client(config);
  } catch {
    // What it throws repeats the url.
    throw new LedgerUrlError('is no URL that the package pg can read');
  }
  const pool = new pg.Pool(config);
  // A connection that breaks, at rest or in use, would end this process without these. Who uses it learns of it all the same.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
  });
  return pool;
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`The number ${text} of the ledger is too large.`);
  return value;
}
