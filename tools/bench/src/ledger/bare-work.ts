import type { SequencedEvent } from '@holdfast/control-protocol';
import type { ApplyOutcome } from '@holdfast/turn-ledger';
import type { BareDatabase } from './bare-database.ts';

const EVENT_COLUMNS = 6;

/** What the ledger does when it applies an outcome, written by hand: guard, session, task. Throws where nothing was changed. */
export async function bareApply(
  database: BareDatabase,
  begin: string,
  { executionId, promptGeneration, controlTurnId, outcome, endedAt }: ApplyOutcome,
): Promise<void> {
  await database.run(begin);
  const [turn] = await database.run(
    `update turns set state = 'completed', outcome = $1, ended_at = $2 where execution_id = $3 and prompt_generation = $4
      and control_turn_id = $5 and state in ('dispatching', 'running') returning session_id`,
    JSON.stringify(outcome),
    Date.parse(endedAt),
    executionId,
    promptGeneration,
    controlTurnId,
  );
  if (turn === undefined) throw new Error(`no open turn ${controlTurnId}`);
  const now = Date.now();
  const [session] = await database.run(
    `update sessions set state = 'waiting_for_input', updated_at = $1 where session_id = $2 and state <> 'stopped'
      returning task_id`,
    now,
    String(turn['session_id']),
  );
  await database.run(
    `update tasks set state = 'review', updated_at = $1 where task_id = $2 and state = 'in_progress'`,
    now,
    String(session?.['task_id']),
  );
  await database.run('commit');
}

/** What the ledger does when it appends events, written by hand: guard, count, rows. Throws where nothing was changed. */
export async function bareAppend(
  database: BareDatabase,
  begin: string,
  { executionId, sessionId, events }: BareAppend,
): Promise<void> {
  const first = events[0]?.seq ?? 0;
  await database.run(begin);
  const [cursor] = await database.run(
    'update event_cursors set stored_seq = $1 where execution_id = $2 and stored_seq = $3 returning stored_seq',
    first + events.length - 1,
    executionId,
    first - 1,
  );
  if (cursor === undefined) throw new Error(`the cursor is not right before ${String(first)}`);
  const [session] = await database.run(
    'update sessions set event_count = event_count + $1 where session_id = $2 returning event_count',
    events.length,
    sessionId,
  );
  const before = Number(session?.['event_count']) - events.length;
  const rows = events.map((_, row) => {
    const places = Array.from(
      { length: EVENT_COLUMNS },
      (__, column) => `$${String(row * EVENT_COLUMNS + column + 1)}`,
    );
    return `(${places.join(', ')})`;
  });
  await database.run(
    `insert into events (execution_id, seq, session_id, position, at, event) values ${rows.join(', ')}`,
    ...events.flatMap(({ seq, at, event }, index) => [
      executionId,
      seq,
      sessionId,
      before + index + 1,
      at,
      JSON.stringify(event),
    ]),
  );
  await database.run('commit');
}

/** One batch of one execution. */
export interface BareAppend {
  readonly executionId: string;
  readonly sessionId: string;
  readonly events: readonly SequencedEvent[];
}
