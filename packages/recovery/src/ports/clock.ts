/** Time and timers, handed in so that what depends on them can be tested without waiting. */
export interface Clock {
  /** Milliseconds on a monotonic clock; only differences mean something. */
  now(): number;
  /** Runs the action once, after a delay of any length; the process stays up for it. Gives what cancels it. */
  after(delayMs: number, action: () => void): () => void;
  /** As {@link Clock.after}, but the process may end before. */
  inBackground(delayMs: number, action: () => void): () => void;
}

// Node turns a longer delay into 1 ms.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function schedule(delayMs: number, action: () => void, hold: boolean): () => void {
  const dueAt = performance.now() + delayMs;
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = Math.max(0, dueAt - performance.now());
    timer = setTimeout(leftMs > LONGEST_TIMER_MS ? arm : action, Math.min(leftMs, LONGEST_TIMER_MS));
    if (!hold) timer.unref();
  };
  arm();
  return () => {
    clearTimeout(timer);
  };
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, action) => schedule(delayMs, action, true),
  inBackground: (delayMs, action) => schedule(delayMs, action, false),
};
