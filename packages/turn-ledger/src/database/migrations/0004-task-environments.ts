import type { Kysely } from 'kysely';

/** Sessions refer to the environment that they work in; those from before refer to none. */
export async function addTaskEnvironments(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('sessions').addColumn('task_environment_id', 'text').execute();
}
