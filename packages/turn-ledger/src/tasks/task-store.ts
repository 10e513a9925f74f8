import { Id } from '@holdfast/control-protocol';
import type { Timestamp } from '@holdfast/control-protocol';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerSchema, LedgerTransaction } from '../database/schema.ts';
import { checkInput, toTimestamp } from '../database/stored-values.ts';

/** Whether work on a task goes on, or waits for a person to look at it. */
export type TaskState = LedgerSchema['tasks']['state'];

/** A unit of work. */
export interface TaskRecord {
  readonly taskId: string;
  readonly state: TaskState;
  /**
   * Its agent was lost, or could not be taken over by the next backend; not when its host stopped it. The next turn clears it.
   */
  readonly interrupted: boolean;
  /** Its last turn failed. The next turn clears it. */
  readonly failed: boolean;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** The tasks of a ledger. */
export interface Tasks {
  /** The task of this id, recorded as in progress if it was not known. */
  ensure(taskId: string): Promise<TaskRecord>;
  get(taskId: string): Promise<TaskRecord | null>;
  /** All tasks, the oldest first. */
  list(): Promise<readonly TaskRecord[]>;
}

export function taskStore(database: LedgerDatabase, clock: () => number): Tasks {
  return {
    async ensure(taskId) {
      checkInput('task id', Id, taskId);
      return await database.transact(async (trx) => {
        await ensureTask(trx, taskId, clock());
        return toRecord(
          await trx.selectFrom('tasks').selectAll().where('task_id', '=', taskId).executeTakeFirstOrThrow(),
        );
      });
    },
    async get(taskId) {
      const row = await database.read(
        async (db) =>
          await db.selectFrom('tasks').selectAll().where('task_id', '=', taskId).executeTakeFirst(),
      );
      return row === undefined ? null : toRecord(row);
    },
    async list() {
      const rows = await database.read(
        async (db) =>
          await db.selectFrom('tasks').selectAll().orderBy('created_at').orderBy('task_id').execute(),
      );
      return rows.map(toRecord);
    },
  };
}

/** Records a task if it is not known yet. */
export async function ensureTask(trx: LedgerTransaction, taskId: string, now: number): Promise<void> {
  await trx
    .insertInto('tasks')
    .values({
      task_id: taskId,
      state: 'in_progress',
      interrupted: 0,
      failed: 0,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('task_id').doNothing())
    .execute();
}

function toRecord(row: LedgerSchema['tasks']): TaskRecord {
  return {
    taskId: row.task_id,
    state: row.state,
    interrupted: row.interrupted === 1,
    failed: row.failed === 1,
    createdAt: toTimestamp(row.created_at),
    updatedAt: toTimestamp(row.updated_at),
  };
}
