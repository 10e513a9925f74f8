import { INSTANCE_MARK, SERVER_MARK } from './agent-environment.ts';
import { descendantsOf, takeSnapshot, type ProcessEntry } from './process-table.ts';

/** Whose processes are meant. */
export interface ProcessFamily {
  /** The agent's process, which leads a group of its own; null when it had ended before it could be looked at. */
  readonly leader: ProcessEntry | null;
  readonly serverId: string;
  readonly instanceId: string;
}

/** All that an agent started and that still runs, itself included: agents run their tools in sessions of their own. */
export async function findFamily(family: ProcessFamily): Promise<readonly ProcessEntry[]> {
  const snapshot = await takeSnapshot();
  const marks = [`${INSTANCE_MARK}=${family.instanceId}`, `${SERVER_MARK}=${family.serverId}`];
  return merge(family.leader === null ? [] : ledBy(family.leader, snapshot.all), snapshot.startedWith(marks));
}

/** Of all processes those of the leader's group and those that descend from it, itself included. */
export function ledBy(leader: ProcessEntry, all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const holder = all.find(({ pid }) => pid === leader.pid);
  // While a group has members its number is given to nobody else; a stranger under it means that it is empty.
  if (holder !== undefined && !isSame(holder, leader)) return [];
  return merge(
    all.filter(({ pid, groupId }) => pid === leader.pid || groupId === leader.pid),
    descendantsOf(leader.pid, all),
  );
}

/** Whether two entries are of the same process, not only of the same number. */
export function isSame(one: ProcessEntry, other: ProcessEntry | null): boolean {
  return one.pid === other?.pid && one.startTime === other.startTime;
}

/** Each process once. */
export function merge(...lists: ReadonlyArray<readonly ProcessEntry[]>): readonly ProcessEntry[] {
  return [
    ...new Map(lists.flat().map((entry) => [`${String(entry.pid)} ${entry.startTime}`, entry])).values(),
  ];
}
