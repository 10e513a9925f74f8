import { Id } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerTransaction } from '../database/schema.ts';
import { checkInput } from '../database/stored-values.ts';
import { endExecutions } from '../executions/execution-writer.ts';
import { OPEN_TURN_STATES } from '../turns/turn-state.ts';

/** What is to be set right about one session. */
export interface SessionToReconcile {
  readonly sessionId: string;
  /**
   * `reconcile`: starting or running becomes waiting for input, an open turn is abandoned, a task in progress goes to review and is
   * marked interrupted. `untouched`: none of it.
   */
  readonly session: 'reconcile' | 'untouched';
  /** The executions that stop claiming a live process, or all of the session; resume token and workspace stay. */
  readonly repair: readonly string[] | 'all';
}

/** What is to be set right after recovery, or after an agent was lost. */
export interface ReconcilePlan {
  readonly sessions: readonly SessionToReconcile[];
}

/** What became true of a session. Unknown sessions, and those that were true already, changed nothing. */
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

const PlanInput = z.object({
  sessions: z.array(
    z.object({
      sessionId: Id,
      session: z.enum(['reconcile', 'untouched']),
      repair: z.union([z.literal('all'), z.array(Id)]),
    }),
  ),
});

/**
 * Makes sessions truthful whose agents are gone or out of reach, each in a transaction of its own; running it again changes nothing
 * more. A task that another, re-tracked session works on stays in progress (SURVIVAL-003.5).
 */
export async function reconcile(
  database: LedgerDatabase,
  plan: ReconcilePlan,
  clock: () => number,
): Promise<readonly ReconciledSession[]> {
  const { sessions } = checkInput('reconcile plan', PlanInput, plan);
  const gone = sessions.filter(({ session }) => session === 'reconcile').map(({ sessionId }) => sessionId);
  const reconciled: ReconciledSession[] = [];
  for (const session of sessions) {
    reconciled.push(
      await database.transact(async (trx) => await reconcileSession(trx, session, { gone, now: clock() })),
    );
  }
  return reconciled;
}

interface ReconcileContext {
  /** All sessions of the plan that nobody works in any more. */
  readonly gone: readonly string[];
  readonly now: number;
}

async function reconcileSession(
  trx: LedgerTransaction,
  { sessionId, session, repair }: SessionToReconcile,
  context: ReconcileContext,
): Promise<ReconciledSession> {
  const settled =
    session === 'reconcile'
      ? await settleSession(trx, sessionId, context)
      : { wasActive: false, abandonedTurnIds: [], taskInterrupted: false };
  return {
    sessionId,
    ...settled,
    endedExecutionIds: await endExecutions(trx, {
      executionIds: await claimingOf(trx, sessionId, repair),
      reason: 'not_retracked',
      now: context.now,
    }),
  };
}

async function settleSession(
  trx: LedgerTransaction,
  sessionId: string,
  { gone, now }: ReconcileContext,
): Promise<Pick<ReconciledSession, 'wasActive' | 'abandonedTurnIds' | 'taskInterrupted'>> {
  // Turns before the session, as everybody does who ends a turn: nobody waits for each other.
  const turns = await trx
    .updateTable('turns')
    .set({ state: 'abandoned', ended_at: now })
    .where('session_id', '=', sessionId)
    .where('state', 'in', OPEN_TURN_STATES)
    .returning('turn_id')
    .execute();
  const active = await trx
    .updateTable('sessions')
    .set({ state: 'waiting_for_input', updated_at: now })
    .where('session_id', '=', sessionId)
    .where('state', 'in', ['starting', 'running'])
    .returning('session_id')
    .executeTakeFirst();
  return {
    wasActive: active !== undefined,
    abandonedTurnIds: turns.map((turn) => turn.turn_id),
    taskInterrupted: await interruptTask(trx, { sessionId, gone, now }),
  };
}

/** The live executions of the session among those to repair. */
async function claimingOf(
  trx: LedgerTransaction,
  sessionId: string,
  repair: SessionToReconcile['repair'],
): Promise<string[]> {
  const live = await trx
    .selectFrom('executions')
    .select('execution_id')
    .where('session_id', '=', sessionId)
    .where('live', '=', 1)
    .execute();
  return live
    .map((row) => row.execution_id)
    .filter((executionId) => repair === 'all' || repair.includes(executionId));
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
