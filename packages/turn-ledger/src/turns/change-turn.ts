import type { LedgerTransaction } from '../database/schema.ts';
import { restSession } from './rest-session.ts';
import { OPEN_TURN_STATES } from './turn-state.ts';
import type { DispatchError } from './turn-record.ts';

/** What recording an acceptance came to. */
export type AcceptResult =
  | { readonly recorded: true }
  /** It ended first: its events were faster than the answer to the prompt. */
  | { readonly recorded: false; readonly why: 'already_terminal' | 'no_such_turn' }
  /** Another control turn is on record for it, which stays. */
  | { readonly recorded: false; readonly why: 'other_control_turn'; readonly controlTurnId: string };

/** Records the control server's turn id on an open turn, which runs from now on. */
export async function acceptTurn(
  trx: LedgerTransaction,
  turnId: string,
  controlTurnId: string,
): Promise<AcceptResult> {
  const recorded = await trx
    .updateTable('turns')
    .set({ state: 'running', control_turn_id: controlTurnId })
    .where('turn_id', '=', turnId)
    .where('state', 'in', OPEN_TURN_STATES)
    .where((eb) => eb.or([eb('control_turn_id', 'is', null), eb('control_turn_id', '=', controlTurnId)]))
    .returning('turn_id')
    .executeTakeFirst();
  if (recorded !== undefined) return { recorded: true };
  const turn = await trx
    .selectFrom('turns')
    .select('control_turn_id')
    .where('turn_id', '=', turnId)
    .executeTakeFirst();
  if (turn === undefined) return { recorded: false, why: 'no_such_turn' };
  return turn.control_turn_id === null || turn.control_turn_id === controlTurnId
    ? { recorded: false, why: 'already_terminal' }
    : { recorded: false, why: 'other_control_turn', controlTurnId: turn.control_turn_id };
}

/**
 * Records what a `turn_started` event says: the turn of this prompt runs, under this id. Nothing happens where the prompt
 * is none of ours or has ended.
 */
export async function startTurn(
  trx: LedgerTransaction,
  started: {
    readonly executionId: string;
    readonly promptGeneration: number;
    readonly controlTurnId: string;
  },
): Promise<void> {
  await trx
    .updateTable('turns')
    .set({ state: 'running', control_turn_id: started.controlTurnId })
    .where('execution_id', '=', started.executionId)
    .where('prompt_generation', '=', started.promptGeneration)
    .where('state', 'in', OPEN_TURN_STATES)
    .where((eb) =>
      eb.or([eb('control_turn_id', 'is', null), eb('control_turn_id', '=', started.controlTurnId)]),
    )
    .execute();
}

/** Ends a turn whose prompt was not accepted. */
export async function failDispatch(
  trx: LedgerTransaction,
  failed: { readonly turnId: string; readonly error: DispatchError; readonly now: number },
): Promise<boolean> {
  const turn = await trx
    .updateTable('turns')
    .set({ state: 'failed', dispatch_error: JSON.stringify(failed.error), ended_at: failed.now })
    .where('turn_id', '=', failed.turnId)
    .where('state', '=', 'dispatching')
    .returning('session_id')
    .executeTakeFirst();
  if (turn === undefined) return false;
  await restSession(trx, turn.session_id, failed.now);
  return true;
}

/** Ends an open turn that nobody works on any more. */
export async function abandonTurn(trx: LedgerTransaction, turnId: string, now: number): Promise<boolean> {
  const turn = await trx
    .updateTable('turns')
    .set({ state: 'abandoned', ended_at: now })
    .where('turn_id', '=', turnId)
    .where('state', 'in', OPEN_TURN_STATES)
    .returning('session_id')
    .executeTakeFirst();
  if (turn === undefined) return false;
  await restSession(trx, turn.session_id, now);
  return true;
}
