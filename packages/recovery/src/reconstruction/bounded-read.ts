import { ControlError, type Settings } from '@holdfast/control-protocol';
import { NoAnswerError, UnreadableAnswerError, type CallOptions } from '@holdfast/control-protocol/client';

/** How long and how often a read of a control server is tried (SURVIVAL-002.13). */
export type ReadSettings = Pick<Settings, 'recoveryReadTimeoutMs' | 'recoveryReadRetries'>;

/** What a bounded read came to. */
export type BoundedRead<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  /** The server answered with an error of the protocol. */
  | { readonly kind: 'rejected'; readonly error: ControlError }
  /** The last of all attempts got no answer, or none that can be read. */
  | { readonly kind: 'unread'; readonly error: NoAnswerError | UnreadableAnswerError | ControlError };

interface Attempts {
  readonly settings: ReadSettings;
  readonly signal?: AbortSignal;
  /** Whether an answer that is no answer of the protocol is worth another attempt; silence always is. */
  readonly retryAnswered: boolean;
}

/**
 * Tries a call up to retries + 1 times, each within the read timeout. Rejects with the signal's reason when that aborts, and with
 * what is no error of a control server.
 */
export async function boundedRead<Value>(
  { settings, signal, retryAnswered }: Attempts,
  attempt: (limits: CallOptions) => Promise<Value>,
): Promise<BoundedRead<Value>> {
  const limits = {
    timeoutMs: settings.recoveryReadTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  };
  for (let retriesLeft = settings.recoveryReadRetries; ; retriesLeft -= 1) {
    try {
      return { kind: 'read', value: await attempt(limits) };
    } catch (error) {
      const result = resultOf(error);
      if (result === undefined) throw error;
      const worthAnother =
        result.error instanceof NoAnswerError || (retryAnswered && result.kind === 'unread');
      if (!worthAnother || retriesLeft === 0) return result;
    }
  }
}

function resultOf(error: unknown): Exclude<BoundedRead<never>, { kind: 'read' }> | undefined {
  if (error instanceof NoAnswerError || error instanceof UnreadableAnswerError)
    return { kind: 'unread', error };
  if (!(error instanceof ControlError)) return undefined;
  return error.code === 'internal' ? { kind: 'unread', error } : { kind: 'rejected', error };
}
