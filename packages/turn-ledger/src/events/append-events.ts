import type { SequencedEvent } from '@holdfast/control-protocol';
import type { LedgerTransaction } from '../database/schema.ts';
import { toEpochMs } from '../database/stored-values.ts';
import { ExecutionNotUsableError } from '../executions/execution-errors.ts';
import { applyOutcome, type ApplyResult } from '../outcomes/apply-outcome.ts';
import type { MapOutcome } from '../outcomes/outcome-effects.ts';
import { startTurn } from '../turns/change-turn.ts';
import { beginUnpromptedTurn, type UnpromptedTurn } from '../turns/unprompted-turn.ts';
import { planAppend } from './append-plan.ts';
import { advanceCursor, lockCursor, moveCursor } from './event-cursor.ts';
import { insertEvents } from './insert-events.ts';
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

/** Stores new events, moves the cursor and lets the turns follow. */
export async function appendEvents(
  trx: LedgerTransaction,
  executionId: string,
  events: readonly SequencedEvent[],
  context: { readonly mapOutcome: MapOutcome; readonly now: number },
): Promise<AppendResult> {
  const { sessionId, fresh, skipped } = await takePlace(trx, executionId, events);
  if (fresh.length === 0) return { stored: 0, skipped, applied: [], unprompted: [] };

  const applied: ApplyResult[] = [];
  const unprompted: UnpromptedTurn[] = [];
  // Turns come first: whoever ends a turn locks its row before that of the session.
  for (const event of fresh) {
    const followed = await followTurn(trx, executionId, event, context);
    if (followed === null) continue;
    if ('applied' in followed) applied.push(followed);
    else unprompted.push(followed);
  }
  await insertEvents(trx, { executionId, sessionId, events: fresh });
  return { stored: fresh.length, skipped, applied, unprompted };
}

/** Moves the cursor over what is new and says what that is. Throws for a gap, and for an execution that was never recorded. */
async function takePlace(
  trx: LedgerTransaction,
  executionId: string,
  events: readonly SequencedEvent[],
): Promise<{
  readonly sessionId: string;
  readonly fresh: readonly SequencedEvent[];
  readonly skipped: number;
}> {
  // Nearly always they come right after the cursor, which one statement proves.
  const first = events[0]?.seq ?? 0;
  if (first > 1 && events.every(({ seq }, index) => seq === first + index)) {
    const to = first + events.length - 1;
    const advanced = await advanceCursor(trx, { executionId, from: first - 1, to });
    if (advanced !== null) return { sessionId: advanced, fresh: events, skipped: 0 };
  }
  const cursor = await lockCursor(trx, executionId);
  if (cursor === null) throw new ExecutionNotUsableError({ executionId, why: 'not_recorded' });
  const { sessionId, storedSeq } = cursor;
  const plan = planAppend(storedSeq, events);
  if (plan.kind === 'gap') throw new EventGapError({ executionId, ...plan });
  const last = plan.fresh.at(-1);
  if (last !== undefined) await moveCursor(trx, executionId, last.seq);
  return { sessionId, fresh: plan.fresh, skipped: plan.skipped };
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
