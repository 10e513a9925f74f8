import { pause, type Clock } from '../ports/clock.ts';
import { findFamily, isSame, merge, type ProcessFamily } from './process-family.ts';
import { stillRunning, type ProcessEntry } from './process-table.ts';

const LOOK_EVERY_MS = 25;
// After SIGKILL nothing but a process stuck in the kernel stays, or one that starts others faster than they are found.
const KILLED_LIMIT_MS = 5000;
// A look goes through the processes one after the other: one that starts another and ends can be missed by it once.
const EMPTY_LOOKS = 2;

/**
 * Ends a family whose `listed` members were found before anything was signalled: SIGTERM, after the grace SIGKILL, only ever to
 * what is still the same process. It looks again until nobody is found, so what was started meanwhile goes as well. Resolves
 * when none is left, with those that even SIGKILL did not end. Rejects with the system's error when the last look was impossible.
 */
export async function endFamily(
  family: ProcessFamily,
  listed: readonly ProcessEntry[],
  options: { readonly clock: Clock; readonly graceMs: number },
): Promise<readonly ProcessEntry[]> {
  const { clock, graceMs } = options;
  const graceOver = clock.now() + graceMs;
  const killOver = graceOver + KILLED_LIMIT_MS;
  let running = listed;
  for (let emptyLooks = 0; ;) {
    try {
      const isGrace = clock.now() < graceOver;
      running = merge(await stillRunning(running), await findFamily(family));
      emptyLooks = running.length === 0 ? emptyLooks + 1 : 0;
      signal(isGrace ? 'SIGTERM' : 'SIGKILL', family.leader, running);
      // Who was asked has the time of the grace; who comes after them is looked for when they are gone.
      if (isGrace) running = await untilEnded(running, clock, graceOver);
      if (emptyLooks === EMPTY_LOOKS || clock.now() >= killOver) return running;
    } catch (error) {
      // Without a descriptor nobody can be looked for, and nobody is signalled on a guess. What is let go meanwhile may give one.
      emptyLooks = 0;
      if (clock.now() >= killOver) throw error;
    }
    await pause(clock, LOOK_EVERY_MS);
  }
}

/** Waits for these to end, but not longer than until `until`; gives those that have not. */
async function untilEnded(
  entries: readonly ProcessEntry[],
  clock: Clock,
  until: number,
): Promise<readonly ProcessEntry[]> {
  let running = entries;
  while (running.length > 0 && clock.now() < until) {
    await pause(clock, LOOK_EVERY_MS);
    running = await stillRunning(running);
  }
  return running;
}

/** Signals these, the leader's group as one. */
function signal(
  name: 'SIGTERM' | 'SIGKILL',
  leader: ProcessEntry | null,
  running: readonly ProcessEntry[],
): void {
  const group = running.some((entry) => isSame(entry, leader)) ? leader?.pid : undefined;
  for (const { pid, groupId } of running) {
    if (group === undefined || groupId !== group) send(name, pid);
  }
  if (group !== undefined) send(name, -group);
}

function send(name: 'SIGTERM' | 'SIGKILL', target: number): void {
  try {
    process.kill(target, name);
  } catch {
    // It has ended since the look.
  }
}
