import { unlessAborted } from '../deadline.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadSettings } from './bounded-read.ts';
import { messageOf } from '../events/message-of.ts';

/** What asking the host came to. */
export type BoundedAnswer<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  /** The last of all attempts failed or stayed silent. */
  | { readonly kind: 'unread'; readonly detail: string };

interface Asking {
  readonly settings: ReadSettings;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Asks a port of the host on the read budget, as control servers are read: a port that fails is asked again, one that hangs is given
 * up (SURVIVAL-002.13). Rejects with the signal's reason when that aborts.
 */
export async function boundedAsk<Value>(
  { settings, clock, signal }: Asking,
  ask: (signal: AbortSignal) => Promise<Value>,
): Promise<BoundedAnswer<Value>> {
  const { recoveryReadTimeoutMs: timeoutMs } = settings;
  for (let retriesLeft = settings.recoveryReadRetries; ; retriesLeft -= 1) {
    const giveUp = new AbortController();
    const cancel = clock.after(timeoutMs, () => {
      giveUp.abort(new Error(`no answer within ${String(timeoutMs)} ms`));
    });
    const limit = AbortSignal.any([signal, giveUp.signal]);
    try {
      return { kind: 'read', value: await unlessAborted(asking(ask, limit), limit) };
    } catch (error) {
      signal.throwIfAborted();
      if (retriesLeft === 0) return { kind: 'unread', detail: messageOf(error) };
    } finally {
      cancel();
    }
  }
}

/** A port that throws before it gives a promise has failed as one that rejects. */
async function asking<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  return await ask(signal);
}
