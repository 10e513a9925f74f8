import { sql, type Kysely } from 'kysely';

/** Epoch milliseconds and counters; 8 bytes on every database. */
const BIG = 'bigint';

/** The first tables. Only what SQLite and PostgreSQL share: text, bigint, smallint, CHECK, partial unique indexes. */
export async function createTables(db: Kysely<unknown>): Promise<void> {
  await createTasks(db);
  await createSessions(db);
  await createExecutions(db);
  await createTurns(db);
  await createEvents(db);
  await createControlServers(db);
}

async function createTasks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tasks')
    .addColumn('task_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('state', 'text', (column) => column.notNull().check(sql`state in ('in_progress', 'review')`))
    .addColumn('interrupted', 'smallint', (column) => column.notNull().check(sql`interrupted in (0, 1)`))
    .addColumn('failed', 'smallint', (column) => column.notNull().check(sql`failed in (0, 1)`))
    .addColumn('created_at', BIG, (column) => column.notNull())
    .addColumn('updated_at', BIG, (column) => column.notNull())
    .execute();
}

async function createSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('session_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('task_id', 'text', (column) => column.notNull().references('tasks.task_id'))
    .addColumn('agent_profile_id', 'text', (column) => column.notNull())
    .addColumn('runtime', 'text', (column) => column.notNull())
    .addColumn('workspace_path', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull().check(sql`mode in ('managed', 'passthrough')`))
    .addColumn('state', 'text', (column) =>
      column.notNull().check(sql`state in ('starting', 'running', 'waiting_for_input', 'failed', 'stopped')`),
    )
    .addColumn('provider_session_id', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('turn_count', BIG, (column) => column.notNull())
    .addColumn('event_count', BIG, (column) => column.notNull())
    .addColumn('created_at', BIG, (column) => column.notNull())
    .addColumn('updated_at', BIG, (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sessions_by_task').on('sessions').column('task_id').execute();
}

async function createExecutions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('executions')
    .addColumn('execution_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.session_id'))
    .addColumn('task_id', 'text', (column) => column.notNull())
    .addColumn('runtime', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('instance_id', 'text', (column) => column.notNull())
    .addColumn('agent_profile_id', 'text', (column) => column.notNull())
    .addColumn('workspace_path', 'text', (column) => column.notNull())
    .addColumn('container_id', 'text')
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('live', 'smallint', (column) => column.notNull().check(sql`live in (0, 1)`))
    .addColumn('end_reason', 'text')
    .addColumn('created_at', BIG, (column) => column.notNull())
    .addColumn('ended_at', BIG)
    .addCheckConstraint('executions_ended', sql`(live = 0) = (ended_at is not null)`)
    .execute();
  await db.schema
    .createIndex('executions_one_live')
    .unique()
    .on('executions')
    .column('session_id')
    .where(sql.ref('live'), '=', sql.lit(1))
    .execute();
}

async function createTurns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('turns')
    .addColumn('turn_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.session_id'))
    .addColumn('ordinal', BIG, (column) => column.notNull())
    .addColumn('execution_id', 'text', (column) => column.notNull().references('executions.execution_id'))
    .addColumn('prompt_generation', BIG, (column) => column.notNull().check(sql`prompt_generation >= 1`))
    .addColumn('control_turn_id', 'text')
    .addColumn('state', 'text', (column) =>
      column
        .notNull()
        .check(sql`state in ('dispatching', 'running', 'completed', 'cancelled', 'failed', 'abandoned')`),
    )
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text')
    .addColumn('dispatch_error', 'text')
    .addColumn('created_at', BIG, (column) => column.notNull())
    .addColumn('ended_at', BIG)
    .addUniqueConstraint('turns_session_ordinal', ['session_id', 'ordinal'])
    .addCheckConstraint('turns_ended', sql`(state in ('dispatching', 'running')) = (ended_at is null)`)
    .execute();
  await db.schema
    .createIndex('turns_one_open')
    .unique()
    .on('turns')
    .column('session_id')
    .where(sql.ref('state'), 'in', sql`('dispatching', 'running')`)
    .execute();
  // Not unique: a dispatch that never reached its instance uses a generation up that the next backend may give again.
  await db.schema
    .createIndex('turns_by_prompt')
    .on('turns')
    .columns(['execution_id', 'prompt_generation'])
    .execute();
}

async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('event_cursors')
    .addColumn('execution_id', 'text', (column) =>
      column.primaryKey().notNull().references('executions.execution_id'),
    )
    .addColumn('stored_seq', BIG, (column) => column.notNull().check(sql`stored_seq >= 0`))
    .execute();
  await db.schema
    .createTable('events')
    .addColumn('execution_id', 'text', (column) => column.notNull().references('executions.execution_id'))
    .addColumn('seq', BIG, (column) => column.notNull().check(sql`seq >= 1`))
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.session_id'))
    .addColumn('position', BIG, (column) => column.notNull())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('events_once', ['execution_id', 'seq'])
    .addUniqueConstraint('events_session_position', ['session_id', 'position'])
    .execute();
}

async function createControlServers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('control_servers')
    .addColumn('scope', 'text', (column) => column.primaryKey().notNull())
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('server_id', 'text', (column) => column.notNull())
    .addColumn('credential_ref', 'text', (column) => column.notNull())
    .addColumn('capabilities', 'text', (column) => column.notNull())
    .addColumn('log_file', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', BIG, (column) => column.notNull())
    .execute();
}
