import { prepared } from '../database/prepared-statement.ts';
import type { LedgerTransaction } from '../database/schema.ts';

/** Where the events of an execution stand. */
export interface EventCursor {
  readonly sessionId: string;
  /** The sequence number of the last stored event; 0 before the first. */
  readonly storedSeq: number;
}

interface Advance {
  readonly executionId: string;
  /** Where it has to stand. */
  readonly from: number;
  readonly to: number;
}

const ADVANCE = prepared<Advance>().as((db, param) =>
  db
    .updateTable('event_cursors')
    .set({ stored_seq: param('to') })
    .where('execution_id', '=', param('executionId'))
    .where('stored_seq', '=', param('from'))
    .returning((eb) =>
      eb
        .selectFrom('executions')
        .select('session_id')
        .whereRef('executions.execution_id', '=', 'event_cursors.execution_id')
        .as('session_id'),
    ),
);

/**
 * Moves the cursor from one sequence number to another, and gives the session. Null where it stands elsewhere or is not there
 * yet: then nothing was changed.
 */
export async function advanceCursor(trx: LedgerTransaction, advance: Advance): Promise<string | null> {
  const [moved] = await ADVANCE.run(trx, advance);
  return moved?.session_id ?? null;
}

/** Reads the cursor under its row's lock; makes it where there is none. Null for an execution that was never recorded. */
export async function lockCursor(trx: LedgerTransaction, executionId: string): Promise<EventCursor | null> {
  const execution = await trx
    .selectFrom('executions')
    .select('session_id')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  if (execution === undefined) return null;
  const { stored_seq } = await trx
    .insertInto('event_cursors')
    .values({ execution_id: executionId, stored_seq: 0 })
    .onConflict((conflict) =>
      conflict
        .column('execution_id')
        .doUpdateSet((eb) => ({ execution_id: eb.ref('excluded.execution_id') })),
    )
    .returning('stored_seq')
    .executeTakeFirstOrThrow();
  return { sessionId: execution.session_id, storedSeq: stored_seq };
}

/** Moves a cursor that {@link lockCursor} has locked. */
export async function moveCursor(
  trx: LedgerTransaction,
  executionId: string,
  storedSeq: number,
): Promise<void> {
  await trx
    .updateTable('event_cursors')
    .set({ stored_seq: storedSeq })
    .where('execution_id', '=', executionId)
    .execute();
}
