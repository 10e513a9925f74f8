import type { SequencedEvent } from '@holdfast/control-protocol';
import { prepared, type PreparedStatement } from '../database/prepared-statement.ts';
import type { LedgerTransaction } from '../database/schema.ts';

/** How many rows one INSERT carries at most: databases bound the parameters of a statement. */
const ROWS_PER_INSERT = 100;

/** A connection keeps parsed what it inserts most. */
const ROWS_OF_KEPT_INSERT = 20;

/** The values of one row, in the order of its columns. */
type Row = readonly [
  executionId: string,
  seq: number,
  sessionId: string,
  position: number,
  at: string,
  event: string,
];

const COUNT = prepared<{ readonly sessionId: string; readonly more: number }>().as((db, param) =>
  db
    .updateTable('sessions')
    .set((eb) => ({ event_count: eb('event_count', '+', param('more')) }))
    .where('session_id', '=', param('sessionId'))
    .returning('event_count'),
);

/** By the number of rows. */
const inserts = new Map<number, PreparedStatement<ReadonlyArray<string | number>, unknown>>();

/** Gives events their places in their session and stores them. */
export async function insertEvents(
  trx: LedgerTransaction,
  place: {
    readonly executionId: string;
    readonly sessionId: string;
    readonly events: readonly SequencedEvent[];
  },
): Promise<void> {
  const { executionId, sessionId, events } = place;
  const [session] = await COUNT.run(trx, { sessionId, more: events.length });
  const before = (session?.event_count ?? 0) - events.length;
  const rows = events.map(({ seq, at, event }, index): Row => [
    executionId,
    seq,
    sessionId,
    before + index + 1,
    at,
    JSON.stringify(event),
  ]);
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    const some = rows.slice(start, start + ROWS_PER_INSERT);
    await insertOf(some.length).run(trx, some.flat());
  }
}

function insertOf(rows: number): PreparedStatement<ReadonlyArray<string | number>, unknown> {
  let statement = inserts.get(rows);
  if (statement === undefined) {
    statement = prepareInsert(rows);
    inserts.set(rows, statement);
  }
  return statement;
}

function prepareInsert(rows: number): PreparedStatement<ReadonlyArray<string | number>, unknown> {
  return prepared<ReadonlyArray<string | number>>({ kept: rows <= ROWS_OF_KEPT_INSERT }).as((db, param) =>
    db.insertInto('events').values(
      Array.from({ length: rows }, (_, row) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the values of a row come in this order
        const [execution_id, seq, session_id, position, at, event] = Array.from({ length: 6 }, (__, column) =>
          param(row * 6 + column),
        ) as unknown as Row;
        return { execution_id, seq, session_id, position, at, event };
      }),
    ),
  );
}
