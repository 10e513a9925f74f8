import type { Clock } from '../ports/clock.ts';
import { isSame, ledBy, merge } from './process-family.ts';
import { takeSnapshot, type ProcessEntry } from './process-table.ts';
import { residentBytes } from './resident-memory.ts';

const LOOK_EVERY_MS = 1000;

/** Whose memory is watched, and what happens when it is too much. */
export interface MemoryWatchOptions {
  readonly clock: Clock;
  readonly leader: ProcessEntry;
  readonly limitBytes: number;
  /** Called once, with how much it was. */
  readonly onOver: (bytes: number) => void;
}

/**
 * Looks once a second how much memory a process and all it started hold together; what was once seen below it counts wherever it
 * went. The answer ends the watch.
 */
export function watchMemory({ clock, leader, limitBytes, onOver }: MemoryWatchOptions): () => void {
  let members: readonly ProcessEntry[] = [];
  let over = false;
  const look = async (): Promise<void> => {
    const { all } = await takeSnapshot();
    const known = all.filter((entry) => members.some((member) => isSame(entry, member)));
    members = merge(ledBy(leader, all), known);
    const bytes = await residentBytes(members);
    if (over) return;
    if (bytes <= limitBytes) {
      cancel = clock.setTimer(LOOK_EVERY_MS, lookAgain);
      return;
    }
    over = true;
    onOver(bytes);
  };
  const lookAgain = (): void => {
    look().catch(() => {
      // Without a list of processes there is nothing to judge by; the next look may have one.
      if (!over) cancel = clock.setTimer(LOOK_EVERY_MS, lookAgain);
    });
  };
  let cancel = clock.setTimer(LOOK_EVERY_MS, lookAgain);
  return () => {
    over = true;
    cancel();
  };
}
