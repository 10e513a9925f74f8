import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';

/** One process at one moment. Pid and start time together name it for good; a pid alone does not. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Opaque, compared for equality only. */
  readonly startTime: string;
}

/** Every process of this machine that has not ended, from `/proc` on Linux and from `ps` elsewhere. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  return process.platform === 'linux' ? listFromProc() : await listFromPs();
}

/** One process, or undefined when it has ended. */
export async function findProcess(pid: number): Promise<ProcessEntry | undefined> {
  if (process.platform === 'linux') return readEntry(pid);
  return (await listFromPs()).find((entry) => entry.pid === pid);
}

/** All that descends from a process, without itself. */
export function descendantsOf(pid: number, all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const childrenOf = Map.groupBy(all, ({ parentPid }) => parentPid);
  const found: ProcessEntry[] = [];
  const open = [pid];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const children = (childrenOf.get(next) ?? []).filter((child) => !found.includes(child));
    found.push(...children);
    open.push(...children.map((child) => child.pid));
  }
  return found;
}

/** The processes that were started with all of these `NAME=value` pairs. Known on Linux only; elsewhere none. */
export function startedWith(pairs: readonly string[], all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  if (process.platform !== 'linux') return [];
  return all.filter(({ pid }) => {
    const environment = readProc(pid, 'environ')?.split('\0') ?? [];
    return pairs.every((pair) => environment.includes(pair));
  });
}

/** Those of the given processes that are still the same ones. */
export async function stillRunning(known: readonly ProcessEntry[]): Promise<readonly ProcessEntry[]> {
  if (known.length === 0) return [];
  if (process.platform === 'linux') {
    return known.filter(({ pid, startTime }) => readEntry(pid)?.startTime === startTime);
  }
  const now = new Map((await listFromPs()).map((entry) => [entry.pid, entry.startTime]));
  return known.filter(({ pid, startTime }) => now.get(pid) === startTime);
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
  // "pid (name) state ppid pgrp …": the name may hold anything, so count from its end. The start time is field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parentPid, groupId] = fields;
  const startTime = fields[19];
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return { pid, parentPid: Number(parentPid), groupId: Number(groupId), startTime };
}

function readProc(pid: number, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch {
    return undefined; // ended meanwhile, or another user's
  }
}

async function listFromPs(): Promise<ProcessEntry[]> {
  const { stdout } = await promisify(execFile)('ps', ['-ax', '-o', 'pid=,ppid=,pgid=,stat=,lstart='], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((row) => {
    const cells = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(row);
    if (cells === null) return [];
    const [, pid, parentPid, groupId, state = '', startTime = ''] = cells;
    if (state.startsWith('Z')) return [];
    return [{ pid: Number(pid), parentPid: Number(parentPid), groupId: Number(groupId), startTime }];
  });
}
