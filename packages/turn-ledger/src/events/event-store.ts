import { InstanceEvent, SequencedEvent } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import { checkInput, readStoredJson } from '../database/stored-values.ts';
import type { MapOutcome } from '../outcomes/outcome-effects.ts';
import { appendEvents, type AppendResult } from './append-events.ts';

/** An event in its place in its session. */
export interface StoredEvent extends SequencedEvent {
  /** 1 for the first event of the session, without gaps, over all its executions. */
  readonly position: number;
  readonly executionId: string;
}

/** Which events of a session to read. */
export interface ReadEvents {
  /** The position after which to begin; 0 for the start. */
  readonly after: number;
  /** How many at most; at least 1. */
  readonly limit: number;
}

/** The events of all sessions, each stored once (BEYOND-02). */
export interface EventLog {
  /**
   * Stores what comes right after the execution's cursor and moves the cursor, in one transaction, together with what the
   * events mean for turns: `turn_started` makes a turn running, one that no prompt started is recorded by it, and `turn_ended`
   * applies the outcome. Repeats are skipped. Throws
   * {@link EventGapError} when events are missing, and {@link ExecutionNotUsableError} when the execution was never recorded;
   * then nothing is stored.
   */
  append(executionId: string, events: readonly SequencedEvent[]): Promise<AppendResult>;
  /** The sequence number of the last stored event of an execution; 0 before the first. */
  cursor(executionId: string): Promise<number>;
  /** The position of the last stored event of a session; 0 before the first. */
  lastPosition(sessionId: string): Promise<number>;
  /** Events of a session in their order. */
  read(sessionId: string, range: ReadEvents): Promise<readonly StoredEvent[]>;
}

const AppendInput = z.array(SequencedEvent.extend({ seq: z.int().positive() }));
const ReadInput = z.object({ after: z.int().nonnegative(), limit: z.int().positive() });

export function eventStore(
  database: LedgerDatabase,
  options: { readonly clock: () => number; readonly mapOutcome: MapOutcome },
): EventLog {
  return {
    async append(executionId, events) {
      const given = checkInput('events', AppendInput, events);
      return await database.transactTogether(
        async (trx) =>
          await appendEvents(trx, executionId, given, {
            mapOutcome: options.mapOutcome,
            now: options.clock(),
          }),
      );
    },
    async cursor(executionId) {
      const row = await database.read(
        async (db) =>
          await db
            .selectFrom('event_cursors')
            .select('stored_seq')
            .where('execution_id', '=', executionId)
            .executeTakeFirst(),
      );
      return row?.stored_seq ?? 0;
    },
    async lastPosition(sessionId) {
      const row = await database.read(
        async (db) =>
          await db
            .selectFrom('sessions')
            .select('event_count')
            .where('session_id', '=', sessionId)
            .executeTakeFirst(),
      );
      return row?.event_count ?? 0;
    },
    async read(sessionId, range) {
      const { after, limit } = checkInput('range of events', ReadInput, range);
      const rows = await database.read(
        async (db) =>
          await db
            .selectFrom('events')
            .select(['position', 'execution_id', 'seq', 'at', 'event'])
            .where('session_id', '=', sessionId)
            .where('position', '>', after)
            .orderBy('position')
            .limit(limit)
            .execute(),
      );
      return rows.map((row) => ({
        position: row.position,
        executionId: row.execution_id,
        seq: row.seq,
        at: row.at,
        event: readStoredJson(
          { table: 'events', key: `${row.execution_id}/${String(row.seq)}` },
          InstanceEvent,
          row.event,
        ),
      }));
    },
  };
}
