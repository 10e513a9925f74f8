/** What a journal holds that nobody has acknowledged. */
export interface JournalLoad {
  readonly events: number;
  readonly bytes: number;
}

/** How many unacknowledged events a journal takes, and how many bytes of them. */
export interface JournalLimits {
  readonly events: number;
  readonly bytes: number;
}

/** The bound on the memory of one journal's unacknowledged events. */
export const MAX_UNACKNOWLEDGED_BYTES = 64 * 1024 * 1024;

/** Whether one more event of `size` bytes may enter. A single event may always enter an empty journal. */
export function hasRoom(load: JournalLoad, limits: JournalLimits, size: number): boolean {
  if (load.events === 0) return true;
  return load.events < limits.events && load.bytes + size <= limits.bytes;
}
