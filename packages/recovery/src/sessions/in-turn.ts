/** Runs a work now, or when one of those before it is done. */
export type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>;

/**
 * Lets so many works run at the same time, and all that wait once the signal aborts. A read that waits among hundreds would time out
 * through nobody's fault but ours, and a healthy agent would be stopped for it.
 */
export function inTurn(atOnce: number, signal: AbortSignal): InTurn {
  let running = 0;
  let waiting: Array<() => void> = [];
  const letAllGo = (): void => {
    for (const go of waiting) go();
    waiting = [];
  };
  signal.addEventListener('abort', letAllGo, { once: true });
  return async (work) => {
    if (running >= atOnce && !signal.aborted) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    }
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}
