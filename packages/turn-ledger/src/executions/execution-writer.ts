import { Id, JsonObject, Scope } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerTransaction } from '../database/schema.ts';
import { checkInput, StorableText } from '../database/stored-values.ts';
import { UnknownSessionError } from '../sessions/session-errors.ts';
import { SessionAlreadyLiveError } from './execution-errors.ts';
import type { AgentProcess, ExecutionRecord } from './execution-records.ts';

/** A row to record when an execution is launched. Its agent is recorded when it runs. */
export interface NewExecution extends Omit<ExecutionRecord, 'sessionMode' | 'agentProcess'> {
  readonly metadata: JsonObject;
}

/** The single writer of the recovery inventory: the host, and nobody else. */
export interface ExecutionWriter {
  /**
   * Records a live execution. Throws {@link SessionAlreadyLiveError} when its session has one, and
   * {@link UnknownSessionError}. An execution id is used once.
   */
  insert(execution: NewExecution): Promise<void>;
  /**
   * Records which process the agent of a live row is; null while one is being started or where it cannot be told. False when
   * the row claims nothing.
   */
  setAgentProcess(executionId: string, agentProcess: AgentProcess | null): Promise<boolean>;
  /**
   * Makes a row stop claiming a live process. The resume token (on the session) and the workspace stay. `why` is a word such
   * as `stopped`. False when the row claimed nothing.
   */
  end(executionId: string, why: string): Promise<boolean>;
  /** Stale-execution repair: as {@link end}, for rows whose process is gone. Gives the ids that were repaired. */
  repair(executionIds: readonly string[]): Promise<readonly string[]>;
}

const NewExecutionInput = z.object({
  executionId: Id,
  sessionId: Id,
  taskId: Id,
  runtime: StorableText,
  scope: Scope,
  serverId: Id.nullable(),
  instanceId: Id,
  agentProfileId: StorableText,
  workspacePath: StorableText,
  containerId: StorableText.nullable(),
  metadata: JsonObject,
});

const AgentProcessInput = z.object({ pid: z.int().positive(), startTime: StorableText }).nullable();

export function executionWriter(database: LedgerDatabase, clock: () => number): ExecutionWriter {
  return {
    async insert(execution) {
      const given = checkInput('execution', NewExecutionInput, execution);
      await database.transact(async (trx) => {
        await insertExecution(trx, given, clock());
      });
    },
    async setAgentProcess(executionId, agentProcess) {
      const given = checkInput('agent process', AgentProcessInput, agentProcess);
      const changed = await database.transact(
        async (trx) =>
          await trx
            .updateTable('executions')
            .set({ agent_pid: given?.pid ?? null, agent_start_time: given?.startTime ?? null })
            .where('execution_id', '=', executionId)
            .where('live', '=', 1)
            .returning('execution_id')
            .executeTakeFirst(),
      );
      return changed !== undefined;
    },
    async end(executionId, why) {
      const reason = checkInput('reason', StorableText, why);
      const ended = await database.transact(
        async (trx) => await endExecutions(trx, { executionIds: [executionId], reason, now: clock() }),
      );
      return ended.length > 0;
    },
    async repair(executionIds) {
      return await database.transact(
        async (trx) => await endExecutions(trx, { executionIds, reason: 'stale', now: clock() }),
      );
    },
  };
}

async function insertExecution(trx: LedgerTransaction, execution: NewExecution, now: number): Promise<void> {
  const { sessionId } = execution;
  // Locks the session row, so that of two launches at once the second one sees the first.
  const session = await trx
    .updateTable('sessions')
    .set({ updated_at: now })
    .where('session_id', '=', sessionId)
    .returning('session_id')
    .executeTakeFirst();
  if (session === undefined) throw new UnknownSessionError({ sessionId });
  const live = await trx
    .selectFrom('executions')
    .select('execution_id')
    .where('session_id', '=', sessionId)
    .where('live', '=', 1)
    .executeTakeFirst();
  if (live !== undefined)
    throw new SessionAlreadyLiveError({ sessionId, liveExecutionId: live.execution_id });
  await trx
    .insertInto('executions')
    .values({
      execution_id: execution.executionId,
      session_id: sessionId,
      task_id: execution.taskId,
      runtime: execution.runtime,
      scope: execution.scope,
      instance_id: execution.instanceId,
      agent_profile_id: execution.agentProfileId,
      workspace_path: execution.workspacePath,
      container_id: execution.containerId,
      metadata: JSON.stringify(execution.metadata),
      live: 1,
      end_reason: null,
      created_at: now,
      ended_at: null,
      server_id: execution.serverId,
      agent_pid: null,
      agent_start_time: null,
    })
    .execute();
}

/** Takes the claim of a live process off rows that make it; gives their ids. */
export async function endExecutions(
  trx: LedgerTransaction,
  ending: { readonly executionIds: readonly string[]; readonly reason: string; readonly now: number },
): Promise<string[]> {
  const ended: string[] = [];
  for (const executionId of ending.executionIds) {
    const row = await trx
      .updateTable('executions')
      .set({ live: 0, end_reason: ending.reason, ended_at: ending.now })
      .where('execution_id', '=', executionId)
      .where('live', '=', 1)
      .returning('execution_id')
      .executeTakeFirst();
    if (row !== undefined) ended.push(row.execution_id);
  }
  return ended;
}
