import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { until } from './until.ts';

/** One process of this machine, as seen at one moment. Zombies are not listed: they have ended. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Opaque; together with the pid it names one process for good. Comparable for equality only. */
  readonly startTime: string;
  /** The command line, arguments joined by blanks. Empty for kernel threads. */
  readonly commandLine: string;
}

/** Every process of this machine that has not ended (from `/proc` on Linux, from `ps` elsewhere). */
export function listProcesses(): ProcessEntry[] {
  return process.platform === 'linux' ? listFromProc() : listFromPs();
}

/** Whether a process with this pid exists and has not ended. A zombie has ended. */
export function processIsAlive(pid: number): boolean {
  return findProcess(pid) !== undefined;
}

/** The start time of a process, or `undefined` when it has ended. Equal pid and start time mean the same process. */
export function processStartTime(pid: number): string | undefined {
  return findProcess(pid)?.startTime;
}

/** Sends a signal to one process. Throws where there is none to name: 0 is the whole group of the caller to the system. */
export function signalProcess(pid: number | null | undefined, signal: NodeJS.Signals): void {
  if (pid === null || pid === undefined || pid <= 1) {
    throw new TypeError(`${String(pid)} is no process to send ${signal} to.`);
  }
  process.kill(pid, signal);
}

/** Waits until the process with this pid has ended. Throws `ConditionNotMetError` at the deadline. */
export async function waitForExit(
  pid: number,
  options: { readonly withinMs: number; readonly reason: string },
): Promise<void> {
  await until(() => !processIsAlive(pid), {
    withinMs: options.withinMs,
    reason: `process ${String(pid)} to end (${options.reason})`,
  });
}

/**
 * As {@link waitForExit}, for a process that this one has started: nothing of it is left, not even a thread that holds its sockets
 * open for a moment after the first has ended.
 */
export async function waitUntilReaped(
  pid: number,
  options: { readonly withinMs: number; readonly reason: string },
): Promise<void> {
  await until(() => !processExists(pid), {
    withinMs: options.withinMs,
    reason: `process ${String(pid)} to be gone (${options.reason})`,
  });
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The pids of all children of a process, their children and so on, parents before children. */
export function descendants(pid: number): number[] {
  const childrenOf = Map.groupBy(listProcesses(), (entry) => entry.parentPid);
  const found: number[] = [];
  const open = [pid];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const children = (childrenOf.get(next) ?? []).map((entry) => entry.pid);
    found.push(...children);
    open.push(...children);
  }
  return found;
}

/**
 * The processes that live off a folder: its path is in their command line, in the environment they were started with, or
 * their working directory is inside it. Environment and working directory are known on Linux only. This process and its
 * ancestors are left out.
 */
export function processesUsing(folder: string): ProcessEntry[] {
  const all = listProcesses();
  const ours = new Set(ancestorsOf(process.pid, all));
  return all.filter(
    (entry) =>
      !ours.has(entry.pid) &&
      (entry.commandLine.includes(folder) || startedWith(entry.pid, folder) || worksIn(entry.pid, folder)),
  );
}

function ancestorsOf(pid: number, all: readonly ProcessEntry[]): number[] {
  const parents = new Map(all.map((entry) => [entry.pid, entry.parentPid]));
  const chain: number[] = [];
  for (let next: number | undefined = pid; next !== undefined && next > 0; next = parents.get(next))
    chain.push(next);
  return chain;
}

function startedWith(pid: number, folder: string): boolean {
  return readProc(pid, 'environ')?.includes(folder) ?? false;
}

function worksIn(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const directory = readlinkSync(`/proc/${String(pid)}/cwd`).replace(/ \(deleted\)$/, '');
    return directory === folder || directory.startsWith(`${folder}/`);
  } catch {
    return false; // ended meanwhile, or another user's
  }
}

function findProcess(pid: number): ProcessEntry | undefined {
  return process.platform === 'linux' ? readEntry(pid) : listFromPs().find((entry) => entry.pid === pid);
}

function listFromProc(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readEntry(Number(name)))
    .filter((entry) => entry !== undefined);
}

function readEntry(pid: number): ProcessEntry | undefined {
  const stat = readProc(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name stands in parentheses and may hold anything, so count from its end. Field numbers as in proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): string => fields[number - 3] ?? '';
  if (field(3) === 'Z' || field(3) === 'X') return undefined;
  return {
    pid,
    parentPid: Number(field(4)),
    groupId: Number(field(5)),
    startTime: field(22),
    commandLine: (readProc(pid, 'cmdline') ?? '').replaceAll('\0', ' ').trim(),
  };
}

function readProc(pid: number, file: 'stat' | 'cmdline' | 'environ'): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch {
    return undefined; // ended meanwhile, or another user's
  }
}

function listFromPs(): ProcessEntry[] {
  const table = execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return table.split('\n').flatMap((row) => {
    // lstart is five words: "Mon Dec  1 10:20:30 2025".
    const cells = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(row);
    if (cells === null) return [];
    const [, pid = '', parentPid = '', groupId = '', state = '', startTime = '', commandLine = ''] = cells;
    if (state.startsWith('Z')) return [];
    return [
      { pid: Number(pid), parentPid: Number(parentPid), groupId: Number(groupId), startTime, commandLine },
    ];
  });
}
