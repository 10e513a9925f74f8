import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

// The last that opencode writes of a turn is a summary with the prompt, after the answer is whole.
const FINISHED_TURNS = `
  SELECT count(*) AS finished
  FROM message AS prompt JOIN message AS answer ON json_extract(answer.data, '$.parentID') = prompt.id
  WHERE json_extract(answer.data, '$.finish') = 'stop'
    AND prompt.time_updated >= json_extract(answer.data, '$.time.completed')`;

/** How many turns opencode has finished, as its database has it; `folder` is that of its homes. */
export function finishedTurns(folder: string): number {
  const database = new DatabaseSync(join(folder, 'data', 'opencode', 'opencode.db'), { readOnly: true });
  try {
    return Number(database.prepare(FINISHED_TURNS).get()?.['finished']);
  } finally {
    database.close();
  }
}
