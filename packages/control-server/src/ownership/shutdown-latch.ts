/** Why a server stops: its owner asked (`shutdown`), it has no owner (`unowned`), or its own process said so (`stopped`). */
export type ShutdownCause = 'shutdown' | 'unowned' | 'stopped';

/** The decision to stop, taken once and never undone (OWNERSHIP-003.9). */
export type ShutdownLatch =
  | { readonly state: 'open' }
  | { readonly state: 'closing'; readonly cause: ShutdownCause; readonly instances: number };

export const OPEN_LATCH: ShutdownLatch = { state: 'open' };

/** The latch after a reason to stop; `instances` is how many there were. The first reason stays. */
export function closeLatch(latch: ShutdownLatch, cause: ShutdownCause, instances: number): ShutdownLatch {
  return latch.state === 'open' ? { state: 'closing', cause, instances } : latch;
}
