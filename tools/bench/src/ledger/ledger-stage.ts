import type { BareDatabase } from './bare-database.ts';

/** How many sessions one INSERT carries. */
const AT_A_TIME = 100;

/** Fills the tables of a ledger with sessions whose turn runs and whose cursor stands at 0; gives their names, each its execution too. */
export async function addRunningSessions(
  database: BareDatabase,
  prefix: string,
  count: number,
): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${String(index + 1)}`);
  for (let start = 0; start < names.length; start += AT_A_TIME) {
    const some = names.slice(start, start + AT_A_TIME);
    const insert = async (into: string, row: (name: string) => string): Promise<void> => {
      await database.run(`insert into ${into} values ${some.map(row).join(', ')}`);
    };
    await database.run('begin');
    await insert(
      'tasks (task_id, state, interrupted, failed, created_at, updated_at)',
      (name) => `('${name}', 'in_progress', 0, 0, 1, 1)`,
    );
    await insert(
      'sessions (session_id, task_id, agent_profile_id, runtime, workspace_path, mode, state, metadata, turn_count, event_count, created_at, updated_at)',
      (name) =>
        `('${name}', '${name}', 'agent', 'standalone', '/work', 'managed', 'running', '{}', 1, 0, 1, 1)`,
    );
    await insert(
      'executions (execution_id, session_id, task_id, runtime, scope, instance_id, agent_profile_id, workspace_path, metadata, live, created_at)',
      (name) =>
        `('${name}', '${name}', '${name}', 'standalone', 'standalone', '${name}', 'agent', '/work', '{}', 1, 1)`,
    );
    await insert(
      'turns (turn_id, session_id, ordinal, execution_id, prompt_generation, control_turn_id, state, content, created_at)',
      (name) => `('${name}', '${name}', 1, '${name}', 1, 'c-${name}', 'running', '[]', 1)`,
    );
    await insert('event_cursors (execution_id, stored_seq)', (name) => `('${name}', 0)`);
    await database.run('commit');
  }
  return names;
}
