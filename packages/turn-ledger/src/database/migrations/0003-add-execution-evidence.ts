import type { Kysely } from 'kysely';

/** By what the liveness of an execution is told: its control server's own id, its agent's pid and start time (SURVIVAL-003.6). */
export async function addExecutionEvidence(db: Kysely<unknown>): Promise<void> {
  // SQLite adds one column at a time.
  await db.schema.alterTable('executions').addColumn('server_id', 'text').execute();
  await db.schema.alterTable('executions').addColumn('agent_pid', 'bigint').execute();
  await db.schema.alterTable('executions').addColumn('agent_start_time', 'text').execute();
}
