import type { LedgerTransaction } from '../database/schema.ts';

/** A turn that an agent began on its own, as its control server told it (GENERATION-07). */
export interface UnpromptedTurn {
  /** The control server's id, which is the ledger's too: nobody else has named it. */
  readonly turnId: string;
  readonly sessionId: string;
  readonly executionId: string;
}

/**
 * Records a turn that no prompt started, with its session running and its task as it is. Null where nothing begins: it is on
 * record already, whatever has become of it, or its execution has ended, which starts no turns any more (GENERATION-12).
 */
export async function beginUnpromptedTurn(
  trx: LedgerTransaction,
  started: { readonly executionId: string; readonly controlTurnId: string; readonly startedAt: number },
  now: number,
): Promise<UnpromptedTurn | null> {
  const { executionId, controlTurnId } = started;
  const execution = await trx
    .selectFrom('executions')
    .select('session_id')
    .where('execution_id', '=', executionId)
    .where('live', '=', 1)
    .executeTakeFirst();
  if (execution === undefined) return null;
  const sessionId = execution.session_id;
  // The row's lock makes turns of one session wait for each other.
  await trx.updateTable('sessions').set({ updated_at: now }).where('session_id', '=', sessionId).execute();
  const known = await trx
    .selectFrom('turns')
    .select('turn_id')
    .where('turn_id', '=', controlTurnId)
    .executeTakeFirst();
  if (known !== undefined) return null;
  const { turn_count } = await trx
    .updateTable('sessions')
    .set((eb) => ({ turn_count: eb('turn_count', '+', 1) }))
    .where('session_id', '=', sessionId)
    .returning('turn_count')
    .executeTakeFirstOrThrow();
  await trx
    .insertInto('turns')
    .values({
      turn_id: controlTurnId,
      session_id: sessionId,
      ordinal: turn_count,
      execution_id: executionId,
      prompt_generation: 0,
      control_turn_id: controlTurnId,
      state: 'running',
      content: '[]',
      outcome: null,
      dispatch_error: null,
      created_at: started.startedAt,
      ended_at: null,
    })
    .execute();
  await trx
    .updateTable('sessions')
    .set({ state: 'running' })
    .where('session_id', '=', sessionId)
    .where('state', '!=', 'stopped')
    .execute();
  return { turnId: controlTurnId, sessionId, executionId };
}
