import { pause, type Clock } from '../ports/clock.ts';
import { INSTANCE_MARK, SERVER_MARK } from './agent-environment.ts';
import { descendantsOf, stillRunning, takeSnapshot, type ProcessEntry } from './process-table.ts';

/** Whose processes are meant. */
export interface ProcessFamily {
  /** The agent's process, which leads a group of its own; null when it had ended before it could be looked at. */
  readonly leader: ProcessEntry | null;
  readonly serverId: string;
  readonly instanceId: string;
}

const LOOK_EVERY_MS = 25;
// After SIGKILL nothing but a process stuck in the kernel stays.
const KILLED_LIMIT_MS = 5000;

/** All that an agent started and that still runs, itself included: agents run their tools in sessions of their own. */
export async function findFamily(family: ProcessFamily): Promise<readonly ProcessEntry[]> {
  const snapshot = await takeSnapshot();
  const marks = [`${INSTANCE_MARK}=${family.instanceId}`, `${SERVER_MARK}=${family.serverId}`];
  return merge(family.leader === null ? [] : ledBy(family.leader, snapshot.all), snapshot.startedWith(marks));
}

/**
 * Ends a family whose `listed` members were found before anything was signalled: SIGTERM, after the grace SIGKILL, only ever to
 * what is still the same process. Resolves when none is left, with those that even SIGKILL did not end.
 */
export async function endFamily(
  family: ProcessFamily,
  listed: readonly ProcessEntry[],
  options: { readonly clock: Clock; readonly graceMs: number },
): Promise<readonly ProcessEntry[]> {
  const { clock, graceMs } = options;
  let running = await signal('SIGTERM', family.leader, merge(listed, await findFamily(family)));
  const graceOver = clock.now() + graceMs;
  while (running.length > 0 && clock.now() < graceOver) {
    await pause(clock, LOOK_EVERY_MS);
    running = await stillRunning(running);
  }
  const killOver = clock.now() + KILLED_LIMIT_MS;
  for (;;) {
    // What was started meanwhile is part of the family as well.
    running = await signal('SIGKILL', family.leader, merge(running, await findFamily(family)));
    if (running.length === 0 || clock.now() >= killOver) return running;
    await pause(clock, LOOK_EVERY_MS);
  }
}

/** Signals those that still run, the leader's group as one; gives them. */
async function signal(
  name: 'SIGTERM' | 'SIGKILL',
  leader: ProcessEntry | null,
  entries: readonly ProcessEntry[],
): Promise<readonly ProcessEntry[]> {
  const running = await stillRunning(entries);
  const group = running.some((entry) => isSame(entry, leader)) ? leader?.pid : undefined;
  for (const { pid, groupId } of running) {
    if (group === undefined || groupId !== group) send(name, pid);
  }
  if (group !== undefined) send(name, -group);
  return running;
}

function send(name: 'SIGTERM' | 'SIGKILL', target: number): void {
  try {
    process.kill(target, name);
  } catch {
    // It has ended since the look.
  }
}

function ledBy(leader: ProcessEntry, all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const holder = all.find(({ pid }) => pid === leader.pid);
  // While a group has members its number is given to nobody else; a stranger under it means that it is empty.
  if (holder !== undefined && !isSame(holder, leader)) return [];
  return merge(
    all.filter(({ pid, groupId }) => pid === leader.pid || groupId === leader.pid),
    descendantsOf(leader.pid, all),
  );
}

function isSame(one: ProcessEntry, other: ProcessEntry | null): boolean {
  return one.pid === other?.pid && one.startTime === other.startTime;
}

function merge(...lists: ReadonlyArray<readonly ProcessEntry[]>): readonly ProcessEntry[] {
  return [
    ...new Map(lists.flat().map((entry) => [`${String(entry.pid)} ${entry.startTime}`, entry])).values(),
  ];
}
