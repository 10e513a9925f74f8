import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';

/** How long to ask; a server that only lost one connection answers at once. */
const ASK_FOR_MS = 3000;
const ASK_EVERY_MS = 50;

/** What became of a transaction whose connection broke during its commit; `unknown`: the server cannot be asked. */
export async function commitFate(pool: Pool, xid: string): Promise<'committed' | 'aborted' | 'unknown'> {
  const deadline = performance.now() + ASK_FOR_MS;
  try {
    for (;;) {
      const { rows } = await pool.query<{ fate: string | null }>('select txid_status($1::bigint) as fate', [
        xid,
      ]);
      const fate = rows[0]?.fate;
      if (fate === 'committed' || fate === 'aborted') return fate;
      // Its backend may be at it still.
      if (fate !== 'in progress' || performance.now() > deadline) return 'unknown';
      await setTimeout(ASK_EVERY_MS);
    }
  } catch {
    return 'unknown';
  }
}
