import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { systemCode } from '../ports/system-error.ts';
import { MARK_PREFIX } from './agent-environment.ts';

/** One process at one moment. Pid and start time together name it for good; a pid alone does not. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** Opaque, compared for equality only. */
  readonly startTime: string;
}

/** The processes of this machine as they were at one moment. */
export interface ProcessSnapshot {
  /** Every one that had not ended, from `/proc` on Linux and from `ps` elsewhere. */
  readonly all: readonly ProcessEntry[];
  /** Those that were started with all of these marks, as `NAME=value`. Known on Linux only; elsewhere none. */
  startedWith(marks: readonly string[]): readonly ProcessEntry[];
}

let coming: Promise<ProcessSnapshot> | undefined;

/**
 * Takes a snapshot after the call. Calls of one turn of the event loop share it: when hundreds of agents are stopped at the same time,
 * a look at all processes for each of them would hold up everything else for the better part of a minute.
 */
export async function takeSnapshot(): Promise<ProcessSnapshot> {
  coming ??= nextTurn().then(async () => {
    coming = undefined;
    return snapshotOf(process.platform === 'linux' ? listFromProc() : await listFromPs());
  });
  return await coming;
}

async function nextTurn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function snapshotOf(all: readonly ProcessEntry[]): ProcessSnapshot {
  /** By mark, read when it is first asked for. */
  let byMark: ReadonlyMap<string, readonly ProcessEntry[]> | undefined;
  return {
    all,
    startedWith(marks) {
      byMark ??= process.platform === 'linux' ? environmentsOf(all) : new Map();
      const [first = [], ...others] = marks.map((mark) => byMark?.get(mark) ?? []);
      return first.filter((entry) => others.every((entries) => entries.includes(entry)));
    },
  };
}

/** The marks that processes carry in the environment they were started with. */
function environmentsOf(all: readonly ProcessEntry[]): ReadonlyMap<string, readonly ProcessEntry[]> {
  const byMark = new Map<string, ProcessEntry[]>();
  for (const entry of all) {
    for (const mark of readProc(entry.pid, 'environ')?.split('\0') ?? []) {
      if (!mark.startsWith(MARK_PREFIX)) continue;
      const carriers = byMark.get(mark);
      if (carriers === undefined) byMark.set(mark, [entry]);
      else if (!carriers.includes(entry)) carriers.push(entry);
    }
  }
  return byMark;
}

/** One process, or undefined when it has ended. Like all looks it rejects with the system's error when that is not to be told. */
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

/** Ended meanwhile, or another user's. Any other error, such as that of no descriptor left, says nothing of the process. */
const NOT_TO_BE_READ = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

function readProc(pid: number, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch (error) {
    if (NOT_TO_BE_READ.has(systemCode(error) ?? '')) return undefined;
    throw error;
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
