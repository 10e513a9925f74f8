import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';
import { classifyPostgresError } from './classify-postgres-error.ts';

/** How long to ask; a server that only lost one connection answers at once. */
const ASK_FOR_MS = 3000;
const ASK_EVERY_MS = 50;

/** What became of a transaction whose connection broke during its commit; `unknown`: the server cannot be asked. */
export async function commitFate(pool: Pool, xid: string): Promise<'committed' | 'aborted' | 'unknown'> {
  const deadline = performance.now() + ASK_FOR_MS;
  for (;;) {
    const fate = await ask(pool, xid);
    if (fate !== 'not yet') return fate;
    if (performance.now() > deadline) return 'unknown';
    await setTimeout(ASK_EVERY_MS);
  }
}

async function ask(pool: Pool, xid: string): Promise<'committed' | 'aborted' | 'unknown' | 'not yet'> {
  try {
    const { rows } = await pool.query<{ fate: string | null }>('select txid_status($1::bigint) as fate', [
      xid,
    ]);
    const fate = rows[0]?.fate;
    if (fate === 'committed' || fate === 'aborted') return fate;
    // Its backend may be at it still.
    return fate === 'in progress' ? 'not yet' : 'unknown';
  } catch (error) {
    // What broke one connection may have broken those that lay idle, too; each is found out by using it.
    return classifyPostgresError(error) === 'connection_lost' ? 'not yet' : 'unknown';
  }
}
