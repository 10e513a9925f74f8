import type { LedgerTransaction } from '../database/schema.ts';
import { OPEN_TURN_STATES } from './turn-state.ts';

/**
 * Lets a running session wait for input if none of its turns is open any more: an agent may work on its own beside a prompt.
 * One that its host stopped meanwhile stays stopped.
 */
export async function restSession(trx: LedgerTransaction, sessionId: string, now: number): Promise<void> {
  // A statement of its own, for its lock: what is read after it is what counts.
  await trx.updateTable('sessions').set({ updated_at: now }).where('session_id', '=', sessionId).execute();
  const open = await trx
    .selectFrom('turns')
    .select('turn_id')
    .where('session_id', '=', sessionId)
    .where('state', 'in', OPEN_TURN_STATES)
    .executeTakeFirst();
  if (open !== undefined) return;
  await trx
    .updateTable('sessions')
    .set({ state: 'waiting_for_input' })
    .where('session_id', '=', sessionId)
    .where('state', '=', 'running')
    .execute();
}
