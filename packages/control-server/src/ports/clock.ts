/** Time as the server sees it; handed in, so that tests can run the whole server on a faster clock. */
export interface Clock {
  /** Monotonic milliseconds. Durations are measured with this alone (OWNERSHIP-003.3). */
  now(): number;
  /** The time of day, for what people read. */
  wall(): Date;
  /** Runs `action` once after `delayMs`, however long that is; the answer takes it back. */
  setTimer(delayMs: number, action: () => void): () => void;
}

// A longer delay makes setTimeout fire at once.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export function systemClock(): Clock {
  return {
    now: () => performance.now(),
    wall: () => new Date(),
    setTimer: (delayMs, action) => {
      const dueAt = performance.now() + delayMs;
      let timeout: NodeJS.Timeout;
      const arm = (): void => {
        const restMs = Math.max(0, dueAt - performance.now());
        timeout =
          restMs > LONGEST_TIMEOUT_MS ? setTimeout(arm, LONGEST_TIMEOUT_MS) : setTimeout(action, restMs);
      };
      arm();
      return () => {
        clearTimeout(timeout);
      };
    },
  };
}

/** Resolves after `delayMs`, or as soon as the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    const onAbort = (): void => {
      cancel();
      resolve();
    };
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Waits for `work`, but no longer than `limitMs`; true when it was done in time. `work` must not reject. */
export async function within(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const inTime = work.then(() => true);
  const tooLate = pause(clock, limitMs, over.signal).then(() => false);
  try {
    return await Promise.race([inTime, tooLate]);
  } finally {
    over.abort();
  }
}
