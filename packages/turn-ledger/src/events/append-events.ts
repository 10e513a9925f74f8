import type { SequencedEvent } from '@holdfast/control-protocol';
import type { LedgerTransaction } from '../database/schema.ts';
import { toEpochMs } from '../database/stored-values.ts';
import { ExecutionNotUsableError } from '../executions/execution-errors.ts';
import { applyOutcome, type ApplyResult } from '../outcomes/apply-outcome.ts';
import type { MapOutcome } from '../outcomes/outcome-effects.ts';
import { startTurn } from '../turns/change-turn.ts';
import { beginUnpromptedTurn, type UnpromptedTurn } from '../turns/unprompted-turn.ts';
import { planAppend } from './append-plan.ts';
import { EventGapError } from './event-gap-error.ts';

/** What appending came to. Acknowledge the last sequence number of what was handed in. */
export interface AppendResult {
  readonly stored: number;
  /** Those that were stored before. */
  readonly skipped: number;
  /** One for each `turn_ended` among the stored ones, in order. */
  readonly applied: readonly ApplyResult[];
  /** The turns that no prompt started and that began with one of the stored events, in order. */
  readonly unprompted: readonly UnpromptedTurn[];
}

/** How many rows one INSERT carries: databases bound the parameters of a statement. */
const ROWS_PER_INSERT = 100;

/** Stores new events, moves the cursor and lets the turns follow. */
export async function appendEvents(
  trx: LedgerTransaction,
  executionId: string,
  events: readonly SequencedEvent[],
  context: { readonly mapOutcome: MapOutcome; readonly now: number },
): Promise<AppendResult> {
  const execution = await trx
    .selectFrom('executions')
    .select('session_id')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  if (execution === undefined) throw new ExecutionNotUsableError({ executionId, why: 'not_recorded' });

  const plan = planAppend(await lockCursor(trx, executionId), events);
  if (plan.kind === 'gap') throw new EventGapError({ executionId, ...plan });
  const last = plan.fresh.at(-1);
  if (last === undefined) return { stored: 0, skipped: plan.skipped, applied: [], unprompted: [] };

  await insertEvents(trx, { executionId, sessionId: execution.session_id, events: plan.fresh });
  await trx
    .updateTable('event_cursors')
    .set({ stored_seq: last.seq })
    .where('execution_id', '=', executionId)
    .execute();
  const applied: ApplyResult[] = [];
  const unprompted: UnpromptedTurn[] = [];
  for (const event of plan.fresh) {
    const followed = await followTurn(trx, executionId, event, context);
    if (followed === null) continue;
    if ('applied' in followed) applied.push(followed);
    else unprompted.push(followed);
  }
  return { stored: plan.fresh.length, skipped: plan.skipped, applied, unprompted };
}

/** Reads the cursor under its row's lock; makes it where there is none. */
async function lockCursor(trx: LedgerTransaction, executionId: string): Promise<number> {
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
  return stored_seq;
}

async function insertEvents(
  trx: LedgerTransaction,
  place: {
    readonly executionId: string;
    readonly sessionId: string;
    readonly events: readonly SequencedEvent[];
  },
): Promise<void> {
  const { executionId, sessionId, events } = place;
  const { event_count } = await trx
    .updateTable('sessions')
    .set((eb) => ({ event_count: eb('event_count', '+', events.length) }))
    .where('session_id', '=', sessionId)
    .returning('event_count')
    .executeTakeFirstOrThrow();
  const before = event_count - events.length;
  const rows = events.map(({ seq, at, event }, index) => ({
    execution_id: executionId,
    seq,
    session_id: sessionId,
    position: before + index + 1,
    at,
    event: JSON.stringify(event),
  }));
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    await trx
      .insertInto('events')
      .values(rows.slice(start, start + ROWS_PER_INSERT))
      .execute();
  }
}

async function followTurn(
  trx: LedgerTransaction,
  executionId: string,
  { at, event }: SequencedEvent,
  context: { readonly mapOutcome: MapOutcome; readonly now: number },
): Promise<ApplyResult | UnpromptedTurn | null> {
  if (event.type === 'turn_started') {
    const { promptGeneration, turnId } = event;
    if (promptGeneration === 0) {
      const started = { executionId, controlTurnId: turnId, startedAt: toEpochMs(at) };
      return await beginUnpromptedTurn(trx, started, context.now);
    }
    await startTurn(trx, { executionId, promptGeneration, controlTurnId: turnId });
    return null;
  }
  if (event.type !== 'turn_ended') return null;
  const { promptGeneration, turnId, outcome } = event;
  return await applyOutcome(
    trx,
    { executionId, promptGeneration, controlTurnId: turnId, outcome, endedAt: toEpochMs(at) },
    context,
  );
}
