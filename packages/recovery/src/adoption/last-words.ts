import { open } from 'node:fs/promises';
import { LastWords } from '@holdfast/control-protocol';
import type { ControlServerRecord } from '@holdfast/executor-contract';

const TAIL_BYTES = 256 * 1024;

/**
 * Whether the server on record stopped because nobody owned it, by the last line of its own log. That log is on the server's machine;
 * where it cannot be read the answer is no.
 */
export async function endedUnowned({
  logFile,
  serverId,
}: Pick<ControlServerRecord, 'logFile' | 'serverId'>): Promise<boolean> {
  const lines = (await readTail(logFile)).split('\n');
  return lines.some((line) => {
    const said = LastWords.safeParse(parse(line)).data;
    return said?.serverId === serverId && said.why === 'unowned';
  });
}

/** The end of a file that may be long; nothing where there is none. */
async function readTail(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
