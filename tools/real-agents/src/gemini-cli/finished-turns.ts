import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How many answers without a tool call Gemini CLI has written down; `folder` is that of its homes. */
export async function finishedTurns(folder: string): Promise<number> {
  let finished = 0;
  for await (const file of glob('*/chats/*.jsonl', { cwd: join(folder, 'home', '.gemini', 'tmp') })) {
    const lines = (await readFile(join(folder, 'home', '.gemini', 'tmp', file), 'utf8')).split('\n');
    finished += lines.filter(
      (line) => line.includes('"type":"gemini"') && !line.includes('"toolCalls"'),
    ).length;
  }
  return finished;
}
