import type { LedgerSchema, LedgerTransaction } from '../database/schema.ts';
import { ExecutionNotUsableError } from '../executions/execution-errors.ts';
import { UnknownSessionError } from '../sessions/session-errors.ts';
import { TurnExistsError, TurnOpenError } from './turn-errors.ts';
import { OPEN_TURN_STATES } from './turn-state.ts';
import type { NewTurn } from './turn-record.ts';

/** Writes a turn that is about to be dispatched, with its session and task. */
export async function beginTurn(
  trx: LedgerTransaction,
  turn: NewTurn,
  now: number,
): Promise<LedgerSchema['turns']> {
  // The session row comes first: its lock makes turns of one session wait for each other.
  const session = await trx
    .updateTable('sessions')
    .set((eb) => ({ state: 'running', turn_count: eb('turn_count', '+', 1), updated_at: now }))
    .where('session_id', '=', turn.sessionId)
    .returning(['task_id', 'turn_count'])
    .executeTakeFirst();
  if (session === undefined) throw new UnknownSessionError({ sessionId: turn.sessionId });
  await refuseUnusableExecution(trx, turn);
  await refuseSecondTurn(trx, turn);
  await trx
    .updateTable('tasks')
    .set({ state: 'in_progress', interrupted: 0, failed: 0, updated_at: now })
    .where('task_id', '=', session.task_id)
    .execute();
  return await trx
    .insertInto('turns')
    .values({
      turn_id: turn.turnId,
      session_id: turn.sessionId,
      ordinal: session.turn_count,
      execution_id: turn.executionId,
      prompt_generation: turn.promptGeneration,
      control_turn_id: null,
      state: 'dispatching',
      content: JSON.stringify(turn.content),
      outcome: null,
      dispatch_error: null,
      created_at: now,
      ended_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function refuseUnusableExecution(trx: LedgerTransaction, turn: NewTurn): Promise<void> {
  const { executionId } = turn;
  const execution = await trx
    .selectFrom('executions')
    .select(['session_id', 'live'])
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  if (execution === undefined) throw new ExecutionNotUsableError({ executionId, why: 'not_recorded' });
  if (execution.session_id !== turn.sessionId) {
    throw new ExecutionNotUsableError({ executionId, why: 'other_session' });
  }
  if (execution.live === 0) throw new ExecutionNotUsableError({ executionId, why: 'ended' });
}

async function refuseSecondTurn(trx: LedgerTransaction, { turnId, sessionId }: NewTurn): Promise<void> {
  const sameId = await trx
    .selectFrom('turns')
    .select('turn_id')
    .where('turn_id', '=', turnId)
    .executeTakeFirst();
  if (sameId !== undefined) throw new TurnExistsError({ turnId });
  const open = await trx
    .selectFrom('turns')
    .select('turn_id')
    .where('session_id', '=', sessionId)
    .where('prompt_generation', '>=', 1)
    .where('state', 'in', OPEN_TURN_STATES)
    .executeTakeFirst();
  if (open !== undefined) throw new TurnOpenError({ sessionId, openTurnId: open.turn_id });
}
