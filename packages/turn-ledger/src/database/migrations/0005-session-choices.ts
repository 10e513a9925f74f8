import type { Kysely } from 'kysely';

/** What was chosen for the agent's session, as JSON; nothing for the sessions that there are. */
export async function addSessionChoices(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('sessions')
    .addColumn('choices', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute();
}
