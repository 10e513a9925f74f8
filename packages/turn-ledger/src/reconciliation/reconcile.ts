import { Id, type TurnOutcome } from '@holdfast/control-protocol';
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
   * marked interrupted. `stop`: its host stopped its agent, and meant it: starting or running becomes waiting for input, an open
   * turn is cancelled (`agent_stopped`), the task stays. `untouched`: none of it.
   */
  readonly session: 'reconcile' | 'stop' | 'untouched';
  /** Where it is about the end of one execution: a session that another one has come to run by now is left as it is. */
  readonly executionId?: string;
  /** The executions that stop claiming a live process, or all of the session; resume token and workspace stay. */
  readonly repair: readonly string[] | 'all';
}

/** What is to be set right after recovery, or after an agent was lost or stopped. */
export interface ReconcilePlan {
  readonly sessions: readonly SessionToReconcile[];
}

/** What became true of a session. Unknown sessions, and those that were true already, changed nothing. */
export interface ReconciledSession {
  readonly sessionId: string;
  /** It was starting or running and waits for input now. */
  readonly wasActive: boolean;
  readonly abandonedTurnIds: readonly string[];
  readonly cancelledTurns: readonly CancelledTurn[];
  /** Its task was in progress, is up for review now and marked interrupted. */
  readonly taskInterrupted: boolean;
  /** Those that claimed a live process; resume token and workspace stay. */
  readonly endedExecutionIds: readonly string[];
}

/** A turn that ended because the host stopped its agent. */
export interface CancelledTurn {
  readonly turnId: string;
  /** 0 where no prompt started it. */
  readonly promptGeneration: number;
  readonly outcome: TurnOutcome;
}

/** As a control server says it of what an agent did on its own. */
const STOPPED: TurnOutcome = { kind: 'cancelled', stopReason: 'agent_stopped' };

const PlanInput = z.object({
  sessions: z.array(
    z.object({
      sessionId: Id,
      session: z.enum(['reconcile', 'stop', 'untouched']),
      executionId: Id.optional(),
      repair: z.union([z.literal('all'), z.array(Id)]),
    }),
  ),
});

/**
 * Makes sessions truthful whose agents are gone, stopped or out of reach, each in a transaction of its own; running it again changes nothing
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
  { sessionId, session, executionId, repair }: CheckedSession,
  context: ReconcileContext,
): Promise<ReconciledSession> {
  const isUntouched =
    session === 'untouched' ||
    (executionId !== undefined && (await runsElsewhere(trx, sessionId, executionId)));
  const settled = isUntouched ? UNTOUCHED : await settleSession(trx, { sessionId, session }, context);
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

type CheckedSession = z.infer<typeof PlanInput>['sessions'][number];

type SettledSession = Omit<ReconciledSession, 'sessionId' | 'endedExecutionIds'>;

const UNTOUCHED: SettledSession = {
  wasActive: false,
  abandonedTurnIds: [],
  cancelledTurns: [],
  taskInterrupted: false,
};

/** Whether a session has another execution that is live. */
async function runsElsewhere(
  trx: LedgerTransaction,
  sessionId: string,
  executionId: string,
): Promise<boolean> {
  const other = await trx
    .selectFrom('executions')
    .select('execution_id')
    .where('session_id', '=', sessionId)
    .where('execution_id', '!=', executionId)
    .where('live', '=', 1)
    .executeTakeFirst();
  return other !== undefined;
}

async function settleSession(
  trx: LedgerTransaction,
  { sessionId, session }: { readonly sessionId: string; readonly session: 'reconcile' | 'stop' },
  { gone, now }: ReconcileContext,
): Promise<SettledSession> {
  const isMeant = session === 'stop';
  // Turns before the session, as everybody does who ends a turn: nobody waits for each other.
  const turns = await trx
    .updateTable('turns')
    .set(isMeant ? { state: 'cancelled', outcome: JSON.stringify(STOPPED) } : { state: 'abandoned' })
    .set({ ended_at: now })
    .where('session_id', '=', sessionId)
    .where('state', 'in', OPEN_TURN_STATES)
    .returning(['turn_id', 'prompt_generation'])
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
    abandonedTurnIds: isMeant ? [] : turns.map((turn) => turn.turn_id),
    cancelledTurns: isMeant
      ? turns.map(({ turn_id, prompt_generation }) => ({
          turnId: turn_id,
          promptGeneration: prompt_generation,
          outcome: STOPPED,
        }))
      : [],
    taskInterrupted: isMeant ? false : await interruptTask(trx, { sessionId, gone, now }),
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
