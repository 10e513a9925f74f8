import { Id, Timestamp } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import { checkInput, toEpochMs } from '../database/stored-values.ts';
import { beginTurn } from './begin-turn.ts';
import { abandonTurn, acceptTurn, failDispatch, type AcceptResult } from './change-turn.ts';
import { DispatchError, NewTurnInput, toTurnRecord, type NewTurn, type TurnRecord } from './turn-record.ts';
import { OPEN_TURN_STATES } from './turn-state.ts';
import { beginUnpromptedTurn, type UnpromptedTurn } from './unprompted-turn.ts';

/** Whether a change was made; if not, the turn was in no state for it, or is not known. */
export interface TurnChange {
  readonly changed: boolean;
}

/** An agent works on its own, as its control server told it. */
export interface StartedUnprompted {
  readonly executionId: string;
  readonly controlTurnId: string;
  readonly startedAt: Timestamp;
}

const StartedUnpromptedInput = z.object({ executionId: Id, controlTurnId: Id, startedAt: Timestamp });

/** The turns of a ledger. Their ends come through `outcomes` and `events`. */
export interface Turns {
  /**
   * Records a turn before its prompt is dispatched: the turn `dispatching`, its session `running`, its task in progress.
   * Throws {@link TurnOpenError} when the session has an open prompt, {@link TurnExistsError}, {@link UnknownSessionError}, and
   * {@link ExecutionNotUsableError}.
   */
  begin(turn: NewTurn): Promise<TurnRecord>;
  /**
   * Records a turn that a control server reports as active and that no prompt started; its `turn_started` event says the same.
   * Null where it is on record, or its execution has ended.
   */
  beginUnprompted(turn: StartedUnprompted): Promise<UnpromptedTurn | null>;
  /** Records that a control server accepted the prompt, and under which turn id. May be repeated. */
  accepted(turnId: string, controlTurnId: string): Promise<AcceptResult>;
  /**
   * Ends a turn that is still `dispatching` as failed; its session waits for input. Only for a prompt that is known not to
   * have been accepted: with an answer that never came, wait for the events or the turn report instead.
   */
  dispatchFailed(turnId: string, error: DispatchError): Promise<TurnChange>;
  /** Ends an open turn whose agent is gone; a running session waits for input. */
  abandon(turnId: string): Promise<TurnChange>;
  get(turnId: string): Promise<TurnRecord | null>;
  /** The oldest first. */
  list(sessionId: string): Promise<readonly TurnRecord[]>;
  /** The prompt that has not ended. A turn that no prompt started is not asked about. */
  openTurn(sessionId: string): Promise<TurnRecord | null>;
  /** The highest generation that was ever begun on an execution, 0 before the first. */
  highestGeneration(executionId: string): Promise<number>;
}

export function turnStore(database: LedgerDatabase, clock: () => number): Turns {
  return {
    async begin(turn) {
      const given = checkInput('turn', NewTurnInput, turn);
      return await database.transact(async (trx) => toTurnRecord(await beginTurn(trx, given, clock())));
    },
    async beginUnprompted(turn) {
      const given = checkInput('unprompted turn', StartedUnpromptedInput, turn);
      const started = { ...given, startedAt: toEpochMs(given.startedAt) };
      return await database.transact(async (trx) => await beginUnpromptedTurn(trx, started, clock()));
    },
    async accepted(turnId, controlTurnId) {
      checkInput('control turn id', Id, controlTurnId);
      return await database.transact(async (trx) => await acceptTurn(trx, turnId, controlTurnId));
    },
    async dispatchFailed(turnId, error) {
      const given = checkInput('dispatch error', DispatchError, error);
      return await database.transact(async (trx) => ({
        changed: await failDispatch(trx, { turnId, error: given, now: clock() }),
      }));
    },
    async abandon(turnId) {
      return await database.transact(async (trx) => ({ changed: await abandonTurn(trx, turnId, clock()) }));
    },
    async get(turnId) {
      const row = await database.read(
        async (db) =>
          await db.selectFrom('turns').selectAll().where('turn_id', '=', turnId).executeTakeFirst(),
      );
      return row === undefined ? null : toTurnRecord(row);
    },
    async list(sessionId) {
      const rows = await database.read(
        async (db) =>
          await db
            .selectFrom('turns')
            .selectAll()
            .where('session_id', '=', sessionId)
            .orderBy('ordinal')
            .execute(),
      );
      return rows.map(toTurnRecord);
    },
    async openTurn(sessionId) {
      const row = await database.read(
        async (db) =>
          await db
            .selectFrom('turns')
            .selectAll()
            .where('session_id', '=', sessionId)
            .where('prompt_generation', '>=', 1)
            .where('state', 'in', OPEN_TURN_STATES)
            .executeTakeFirst(),
      );
      return row === undefined ? null : toTurnRecord(row);
    },
    async highestGeneration(executionId) {
      const row = await database.read(
        async (db) =>
          await db
            .selectFrom('turns')
            .select('prompt_generation')
            .where('execution_id', '=', executionId)
            .orderBy('prompt_generation', 'desc')
            .limit(1)
            .executeTakeFirst(),
      );
      return row?.prompt_generation ?? 0;
    },
  };
}
