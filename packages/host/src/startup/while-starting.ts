/** A caller's wish to stop a start-up: it counts until that is over. */
export interface StartingSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Follows the caller's signal until it is disposed: what a start-up leaves running in the background is not the caller's to stop. */
export function whileStarting(caller: AbortSignal): StartingSignal {
  const starting = new AbortController();
  const abort = (): void => {
    starting.abort(caller.reason);
  };
  if (caller.aborted) abort();
  caller.addEventListener('abort', abort, { once: true });
  return {
    signal: starting.signal,
    [Symbol.dispose]() {
      caller.removeEventListener('abort', abort);
    },
  };
}
