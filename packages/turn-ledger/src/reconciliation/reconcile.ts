import { Id } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerTransaction } from '../database/schema.ts';
import { checkInput } from '../database/stored-values.ts';
import { endExecutions } from '../executions/execution-writer.ts';
import { OPEN_TURN_STATES } from '../turns/turn-state.ts';

/** The sessions whose executions were not re-tracked. */
export interface ReconcilePlan {
  readonly sessionIds: readonly string[];
}

/** What became true of a session that was not re-tracked. Unknown sessions, and those that were true already, changed nothing. */
export interface ReconciledSession {
  readonly sessionId: string;
  /** It was starting or running and waits for input now. */
  readonly wasActive: boolean;
  readonly abandonedTurnIds: readonly string[];
  /** Its task was in progress, is up for review now and marked interrupted. */
  readonly taskInterrupted: boolean;
  /** Those that claimed a live process; resume token and workspace stay. */
  readonly endedExecutionIds: readonly string[];
}

const PlanInput = z.object({ sessionIds: z.array(Id) });

/**
 * Makes sessions truthful whose agents are gone, each in a transaction of its own; running it again changes nothing more. A
 * task that another, re-tracked session works on stays in progress (SURVIVAL-003.5).
 */
export async function reconcile(
  database: LedgerDatabase,
  plan: ReconcilePlan,
  clock: () => number,
): Promise<readonly ReconciledSession[]> {
  const { sessionIds } = checkInput('reconcile plan', PlanInput, plan);
  const gone = [...new Set(sessionIds)];
  const reconciled: ReconciledSession[] = [];
  for (const sessionId of gone) {
    reconciled.push(
      await database.transact(async (trx) => await reconcileSession(trx, { sessionId, gone, now: clock() })),
    );
  }
  return reconciled;
}

async function reconcileSession(
  trx: LedgerTransaction,
  { sessionId, gone, now }: { sessionId: string; gone: readonly string[]; now: number },
): Promise<ReconciledSession> {
  const active = await trx
    .updateTable('sessions')
    .set({ state: 'waiting_for_input', updated_at: now })
    .where('session_id', '=', sessionId)
    .where('state', 'in', ['starting', 'running'])
    .returning('session_id')
    .executeTakeFirst();
  const turns = await trx
    .updateTable('turns')
    .set({ state: 'abandoned', ended_at: now })
    .where('session_id', '=', sessionId)
    .where('state', 'in', OPEN_TURN_STATES)
    .returning('turn_id')
    .execute();
  const live = await trx
    .selectFrom('executions')
    .select('execution_id')
    .where('session_id', '=', sessionId)
    .where('live', '=', 1)
    .execute();
  return {
    sessionId,
    wasActive: active !== undefined,
    abandonedTurnIds: turns.map((turn) => turn.turn_id),
    taskInterrupted: await interruptTask(trx, { sessionId, gone, now }),
    endedExecutionIds: await endExecutions(trx, {
      executionIds: live.map((row) => row.execution_id),
      reason: 'not_retracked',
      now,
    }),
  };
}

async function interruptTask(
  trx: LedgerTransaction,
  { sessionId, gone, now }: { sessionId: string; gone: readonly string[]; now: number },
): Promise<boolean> {
  const session = await trx
    .selectFrom('sessions')
    .select('task_id')
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  if (session === undefined) return false;
  const others = await trx
    .selectFrom('sessions')
    .innerJoin('executions', 'executions.session_id', 'sessions.session_id')
    .select('sessions.session_id')
    .where('sessions.task_id', '=', session.task_id)
    .where('executions.live', '=', 1)
    .execute();
  if (others.some((other) => !gone.includes(other.session_id))) return false;
  const interrupted = await trx
    .updateTable('tasks')
    .set({ state: 'review', interrupted: 1, updated_at: now })
    .where('task_id', '=', session.task_id)
    .where('state', '=', 'in_progress')
    .returning('task_id')
    .executeTakeFirst();
  return interrupted !== undefined;
}
