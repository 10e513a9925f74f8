import type { Clock } from './ports/clock.ts';

/** The reason with which the deadline aborts what it bounds. */
export class RecoveryDeadlineError extends Error {
  override readonly name = 'RecoveryDeadlineError';
  readonly code = 'recovery_deadline';
  readonly deadlineMs: number;

  constructor(facts: { deadlineMs: number }) {
    super(
      `Recovery was not done ${String(facts.deadlineMs)} ms after its first contact with a control server.`,
    );
    this.deadlineMs = facts.deadlineMs;
  }
}

/** One deadline over all that recovery does (SURVIVAL-003.7), and the caller's own wish to stop. */
export interface Deadline {
  /** Aborts at the deadline, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** Resolves at the deadline, and never when it was cancelled before. */
  readonly reached: Promise<void>;
  /** Milliseconds since it started. */
  elapsedMs(): number;
  cancel(): void;
}

/** Starts the deadline's clock. */
export function startDeadline(clock: Clock, deadlineMs: number, caller: AbortSignal): Deadline {
  const startedAt = clock.now();
  const due = new AbortController();
  const reached = Promise.withResolvers<void>();
  const cancel = clock.after(deadlineMs, () => {
    due.abort(new RecoveryDeadlineError({ deadlineMs }));
    reached.resolve();
  });
  return {
    signal: AbortSignal.any([due.signal, caller]),
    reached: reached.promise,
    elapsedMs: () => clock.now() - startedAt,
    cancel,
  };
}

/** The result of a work that knows no signal, unless the signal aborts first; its later result is dropped then. */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => {
    aborted.reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
