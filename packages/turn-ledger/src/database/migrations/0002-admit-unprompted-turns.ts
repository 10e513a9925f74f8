import { sql, type Kysely } from 'kysely';

const BIG = 'bigint';

/** The columns of `turns`, in the order in which they are copied. */
const COLUMNS = [
  'turn_id',
  'session_id',
  'ordinal',
  'execution_id',
  'prompt_generation',
  'control_turn_id',
  'state',
  'content',
  'outcome',
  'dispatch_error',
  'created_at',
  'ended_at',
] as const;

/**
 * Lets a session have turns that no prompt started (generation 0) beside its one open prompt. A check cannot be changed in
 * SQLite, so the table is made anew, which is safe because no other table refers to it. The rows wait in a table without
 * constraints, because PostgreSQL keeps the names of indexes apart for the whole schema.
 */
export async function admitUnpromptedTurns(db: Kysely<unknown>): Promise<void> {
  const columns = sql.join(COLUMNS.map((column) => sql.ref(column)));
  await sql`create table turns_before as select ${columns} from turns`.execute(db);
  await db.schema.dropTable('turns').execute();
  await createTurns(db);
  await sql`insert into turns (${columns}) select ${columns} from turns_before`.execute(db);
  await db.schema.dropTable('turns_before').execute();
}

async function createTurns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('turns')
    .addColumn('turn_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('session_id', 'text', (column) => column.notNull().references('sessions.session_id'))
    .addColumn('ordinal', BIG, (column) => column.notNull())
    .addColumn('execution_id', 'text', (column) => column.notNull().references('executions.execution_id'))
    .addColumn('prompt_generation', BIG, (column) => column.notNull().check(sql`prompt_generation >= 0`))
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
    // Nobody dispatches such a turn: it is known from its control server, by the id it has there.
    .addCheckConstraint(
      'turns_unprompted',
      sql`prompt_generation >= 1 or (state <> 'dispatching' and control_turn_id is not null)`,
    )
    .execute();
  await db.schema
    .createIndex('turns_one_open')
    .unique()
    .on('turns')
    .column('session_id')
    .where(sql<boolean>`prompt_generation >= 1 and state in ('dispatching', 'running')`)
    .execute();
  // `< 1` and not `= 0`: SQLite would ask of every `prompt_generation = ?` whether it means this index, which depends on the value,
  // and so would compile such a statement anew each time it runs.
  await db.schema
    .createIndex('turns_unprompted_once')
    .unique()
    .on('turns')
    .columns(['execution_id', 'control_turn_id'])
    .where(sql<boolean>`prompt_generation < 1`)
    .execute();
  // Not unique: a dispatch that never reached its instance uses a generation up that the next backend may give again.
  await db.schema
    .createIndex('turns_by_prompt')
    .on('turns')
    .columns(['execution_id', 'prompt_generation'])
    .execute();
}
