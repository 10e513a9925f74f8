import { ContentBlock, Id, TurnOutcome } from '@holdfast/control-protocol';
import type { JsonObject, Timestamp } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerSchema } from '../database/schema.ts';
import { readStored, readStoredJson, toTimestamp } from '../database/stored-values.ts';
import { OPEN_TURN_STATES, TERMINAL_TURN_STATES, type TurnState } from './turn-state.ts';

/** A prompt that is about to be dispatched. */
export interface NewTurn {
  /** The host's own id for the turn; it outlives backends. */
  readonly turnId: string;
  readonly sessionId: string;
  readonly executionId: string;
  /** At least 1 (GENERATION-01). */
  readonly promptGeneration: number;
  /** The ACP content blocks of the prompt. */
  readonly content: readonly JsonObject[];
}

/** Why a prompt did not reach its agent. Must not hold a secret: it is stored. */
export const DispatchError = z.object({ code: z.string(), message: z.string() });
export type DispatchError = z.infer<typeof DispatchError>;

/** One turn and what came of it. */
export interface TurnRecord extends NewTurn {
  /**
   * `agent`: it worked on its own, e.g. when background work of it finished (GENERATION-07). Such a turn has the generation 0,
   * no content, and the id that its control server gave it.
   */
  readonly startedBy: 'prompt' | 'agent';
  /** 1 for the first turn of its session. */
  readonly ordinal: number;
  /** The control server's turn id; null until it is known. */
  readonly controlTurnId: string | null;
  readonly state: TurnState;
  /** Set on `completed`, `cancelled` and, where an outcome said so, `failed`. */
  readonly outcome: TurnOutcome | null;
  /** Set where the dispatch failed. */
  readonly dispatchError: DispatchError | null;
  readonly createdAt: Timestamp;
  readonly endedAt: Timestamp | null;
}

/** What a new turn must look like. */
export const NewTurnInput = z.object({
  turnId: Id,
  sessionId: Id,
  executionId: Id,
  promptGeneration: z.int().positive(),
  content: z.array(ContentBlock).min(1),
});

const AnyTurnState = z.enum([...OPEN_TURN_STATES, ...TERMINAL_TURN_STATES]);

/** A row as its readers get it. */
export function toTurnRecord(row: LedgerSchema['turns']): TurnRecord {
  const place = { table: 'turns', key: row.turn_id };
  return {
    startedBy: row.prompt_generation === 0 ? 'agent' : 'prompt',
    turnId: row.turn_id,
    sessionId: row.session_id,
    ordinal: row.ordinal,
    executionId: row.execution_id,
    promptGeneration: row.prompt_generation,
    controlTurnId: row.control_turn_id,
    state: readStored(place, AnyTurnState, row.state),
    content: readStoredJson(place, z.array(ContentBlock), row.content),
    outcome: row.outcome === null ? null : readStoredJson(place, TurnOutcome, row.outcome),
    dispatchError:
      row.dispatch_error === null ? null : readStoredJson(place, DispatchError, row.dispatch_error),
    createdAt: toTimestamp(row.created_at),
    endedAt: row.ended_at === null ? null : toTimestamp(row.ended_at),
  };
}
