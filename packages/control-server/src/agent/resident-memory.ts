import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ProcessEntry } from './process-table.ts';

/** How much memory processes hold together, in bytes, as `ps` counts it: what they share counts for each. */
export async function residentBytes(entries: readonly ProcessEntry[]): Promise<number> {
  if (process.platform === 'linux') {
    return 1024 * entries.reduce((kilobytes, { pid }) => kilobytes + residentKilobytes(pid), 0);
  }
  if (entries.length === 0) return 0;
  const pids = entries.map(({ pid }) => String(pid)).join(',');
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', pids]);
    return 1024 * stdout.split('\n').reduce((kilobytes, cell) => kilobytes + Number(cell), 0);
  } catch {
    return 0; // none of them is left
  }
}

function residentKilobytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // ended meanwhile
  }
}
