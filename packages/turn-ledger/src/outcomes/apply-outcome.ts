import type { RetainedOutcome, TurnOutcome } from '@holdfast/control-protocol';
import type { LedgerTransaction } from '../database/schema.ts';
import type { SessionState } from '../sessions/session-state.ts';
import { UnknownSessionError } from '../sessions/session-errors.ts';
import { restSession } from '../turns/rest-session.ts';
import type { TerminalTurnState } from '../turns/turn-state.ts';
import type { MapOutcome } from './outcome-effects.ts';
import { endTurn, failTask, moveSession, reviewTask } from './outcome-statements.ts';

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
  const { executionId, promptGeneration, controlTurnId, endedAt } = given;
  const [turn] = await endTurn.run(trx, {
    state: effects.turn,
    outcome: JSON.stringify(given.outcome),
    controlTurnId,
    endedAt,
    executionId,
    promptGeneration,
  });
  if (turn === undefined) return await whyNot(trx, given);

  const { now } = context;
  const isPrompt = promptGeneration > 0;
  const moved = { sessionId: turn.session_id, state: effects.session, now };
  const [session] = isPrompt
    ? await moveSession.run(trx, moved)
    : await restedSession(trx, turn.session_id, now);
  if (session === undefined) throw new UnknownSessionError({ sessionId: turn.session_id });
  if (isPrompt && effects.task !== 'stays') {
    const follow = effects.task === 'to_review' ? reviewTask : failTask;
    await follow.run(trx, { taskId: session.task_id, now });
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

/** Lets a session wait if nothing of it is open, and gives its row as it is then. */
async function restedSession(
  trx: LedgerTransaction,
  sessionId: string,
  now: number,
): Promise<ReadonlyArray<{ readonly task_id: string; readonly state: SessionState }>> {
  await restSession(trx, sessionId, now);
  return await trx
    .selectFrom('sessions')
    .select(['task_id', 'state'])
    .where('session_id', '=', sessionId)
    .execute();
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
