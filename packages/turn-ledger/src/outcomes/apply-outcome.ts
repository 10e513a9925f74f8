import type { RetainedOutcome, TurnOutcome } from '@holdfast/control-protocol';
import type { LedgerTransaction } from '../database/schema.ts';
import type { SessionState } from '../sessions/session-state.ts';
import { restSession } from '../turns/rest-session.ts';
import { OPEN_TURN_STATES, type TerminalTurnState } from '../turns/turn-state.ts';
import type { MapOutcome } from './outcome-effects.ts';

/** How a turn ended, as a control server told it: by a `turn_ended` event or in its retained list. */
export interface ApplyOutcome {
  readonly executionId: string;
  /** 0 for a turn that no prompt started. */
  readonly promptGeneration: number;
  /** The control server's turn id: sameness across a restart (SURVIVAL-004.4). */
  readonly controlTurnId: string;
  readonly outcome: TurnOutcome;
  readonly endedAt: RetainedOutcome['endedAt'];
}

/** What applying an outcome came to. Acknowledge the turn to its control server in every case. */
export type ApplyResult =
  | {
      readonly applied: true;
      readonly turnId: string;
      readonly controlTurnId: string;
      /** 0 where no prompt started the turn: then its session was let wait, and its task left as it is. */
      readonly promptGeneration: number;
      readonly sessionId: string;
      readonly taskId: string;
      readonly turnState: TerminalTurnState;
      readonly sessionState: SessionState;
      /** As it was given: it is the one that counts. */
      readonly outcome: TurnOutcome;
    }
  /** The turn had ended; nothing was changed. */
  | {
      readonly applied: false;
      readonly why: 'already_terminal';
      readonly turnId: string;
      readonly sessionId: string;
      readonly turnState: TerminalTurnState;
    }
  /** That turn is not of this ledger. */
  | { readonly applied: false; readonly why: 'no_such_turn' };

/** An outcome on its way into the tables. */
export interface OutcomeToApply extends Omit<ApplyOutcome, 'endedAt'> {
  /** Epoch milliseconds. */
  readonly endedAt: number;
}

/**
 * Ends a turn with its session and task, if it has not ended. The guard is the WHERE of the first write: it is judged under
 * the row's lock, so that of any number of callers exactly one applies (SURVIVAL-004.4, .6). A turn that no prompt started
 * leaves the task alone, and lets the session wait (GENERATION-07).
 */
export async function applyOutcome(
  trx: LedgerTransaction,
  given: OutcomeToApply,
  context: { readonly mapOutcome: MapOutcome; readonly now: number },
): Promise<ApplyResult> {
  const effects = context.mapOutcome(given.outcome);
  const turn = await trx
    .updateTable('turns')
    .set({
      state: effects.turn,
      outcome: JSON.stringify(given.outcome),
      // A crash between the server's acceptance and its recording leaves it unknown until now.
      control_turn_id: given.controlTurnId,
      ended_at: given.endedAt,
    })
    .where('execution_id', '=', given.executionId)
    .where('prompt_generation', '=', given.promptGeneration)
    .where((eb) =>
      eb.or([eb('control_turn_id', 'is', null), eb('control_turn_id', '=', given.controlTurnId)]),
    )
    .where('state', 'in', OPEN_TURN_STATES)
    .returning(['turn_id', 'session_id'])
    .executeTakeFirst();
  if (turn === undefined) return await whyNot(trx, given);

  const isPrompt = given.promptGeneration > 0;
  if (isPrompt) {
    await trx
      .updateTable('sessions')
      .set({ state: effects.session, updated_at: context.now })
      .where('session_id', '=', turn.session_id)
      .where('state', '!=', 'stopped')
      .execute();
  } else {
    await restSession(trx, turn.session_id, context.now);
  }
  const session = await trx
    .selectFrom('sessions')
    .select(['task_id', 'state'])
    .where('session_id', '=', turn.session_id)
    .executeTakeFirstOrThrow();
  if (isPrompt && effects.task !== 'stays') {
    await trx
      .updateTable('tasks')
      .set({
        ...(effects.task === 'to_review' ? { state: 'review' } : { failed: 1 }),
        updated_at: context.now,
      })
      .where('task_id', '=', session.task_id)
      .where('state', '=', 'in_progress')
      .execute();
  }
  return {
    applied: true,
    turnId: turn.turn_id,
    controlTurnId: given.controlTurnId,
    promptGeneration: given.promptGeneration,
    sessionId: turn.session_id,
    taskId: session.task_id,
    turnState: effects.turn,
    sessionState: session.state,
    outcome: given.outcome,
  };
}

/** Nothing open fits: either the turn has ended, or it is none of ours. */
async function whyNot(trx: LedgerTransaction, given: OutcomeToApply): Promise<ApplyResult> {
  const ended = await trx
    .selectFrom('turns')
    .select(['turn_id', 'session_id', 'state'])
    .where('execution_id', '=', given.executionId)
    .where('prompt_generation', '=', given.promptGeneration)
    .where((eb) =>
      eb.or([eb('control_turn_id', 'is', null), eb('control_turn_id', '=', given.controlTurnId)]),
    )
    .orderBy('control_turn_id', (order) => order.desc().nullsLast())
    .orderBy('ordinal', 'desc')
    .executeTakeFirst();
  if (ended === undefined || ended.state === 'dispatching' || ended.state === 'running') {
    return { applied: false, why: 'no_such_turn' };
  }
  return {
    applied: false,
    why: 'already_terminal',
    turnId: ended.turn_id,
    sessionId: ended.session_id,
    turnState: ended.state,
  };
}
