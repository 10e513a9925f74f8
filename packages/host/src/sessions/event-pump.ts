import { setTimeout as delay } from 'node:timers/promises';
import { ControlError, STREAM_CLOSE, type SequencedEvent } from '@holdfast/control-protocol';
import type { ControlClient, EventStream } from '@holdfast/control-protocol/client';

/** Where a pump takes events from and what it does with them. */
export interface PumpPorts {
  readonly instanceId: string;
  readonly client: ControlClient;
  /** Aborts when the server has ended: it is not tried again then, and what has come from it is stored to the end. */
  readonly serverEnded: AbortSignal;
  /** The last sequence number that is durably stored. */
  readonly cursor: () => Promise<number>;
  /** Stores the events durably and acts on them. The server may forget them once this resolves. */
  readonly store: (events: readonly SequencedEvent[]) => Promise<void>;
  /** Called before each stream is opened but the first: what the stream cannot tell is read here. */
  readonly beforeReattach: () => Promise<void>;
  /** The stream broke or could not be opened; it is tried again. Told once for each outage. */
  readonly onDetached: (why: string) => void;
}

/** Why a pump came to its end by itself. */
export type PumpEnd = 'instance_stopped' | 'server_stopping' | 'server_gone' | 'superseded' | 'replaced';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 5000;

const LAST_CLOSES: ReadonlyMap<number, PumpEnd> = new Map([
  [STREAM_CLOSE.instanceStopped, 'instance_stopped'],
  [STREAM_CLOSE.serverStopping, 'server_stopping'],
  [STREAM_CLOSE.superseded, 'superseded'],
  [STREAM_CLOSE.replaced, 'replaced'],
]);

const LAST_ERRORS: ReadonlyMap<string, PumpEnd> = new Map([
  ['instance_not_found', 'instance_stopped'],
  ['shutting_down', 'server_stopping'],
  ['credential_superseded', 'superseded'],
  ['credential_unknown', 'superseded'],
]);

/**
 * Carries an instance's events into the ledger until the signal aborts (undefined) or the server says that there will be
 * no more. Only what is durably stored is acknowledged, so a backend that dies in between gets it again (BEYOND-02). A
 * broken stream is opened again after the cursor.
 */
export async function pumpEvents(ports: PumpPorts, signal: AbortSignal): Promise<PumpEnd | undefined> {
  const released = (): boolean => signal.aborted;
  const wakened = AbortSignal.any([signal, ports.serverEnded]);
  let retryMs = FIRST_RETRY_MS;
  let detached = false;
  const tellDetached = (why: string): void => {
    if (!detached) ports.onDetached(why);
    detached = true;
  };
  for (let first = true; !released(); first = false) {
    try {
      if (!first) await ports.beforeReattach();
      await using stream = await ports.client.openEvents(ports.instanceId, {
        after: await ports.cursor(),
        signal,
      });
      retryMs = FIRST_RETRY_MS;
      detached = false;
      const end = await drain(stream, ports, signal);
      if (released()) return undefined;
      const last = LAST_CLOSES.get(end.code);
      if (last !== undefined) return last;
      tellDetached(`the event stream closed (${String(end.code)} ${end.reason})`);
    } catch (error) {
      if (released()) return undefined;
      const last = error instanceof ControlError ? LAST_ERRORS.get(error.code) : undefined;
      if (last !== undefined) return last;
      tellDetached(error instanceof Error ? error.message : String(error));
    }
    if (ports.serverEnded.aborted) return 'server_gone';
    await delay(retryMs, undefined, { signal: wakened }).catch(() => undefined);
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
  }
  return undefined;
}

async function drain(
  stream: EventStream,
  ports: PumpPorts,
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly reason: string }> {
  const close = (): void => {
    void stream.close();
  };
  signal.addEventListener('abort', close, { once: true });
  try {
    for await (const delivery of stream) {
      // Lossy events tell of the wiring only; they have no place in the ledger.
      if (delivery.type !== 'events') continue;
      const last = delivery.events.at(-1);
      if (last === undefined) continue;
      await ports.store(delivery.events);
      stream.acknowledge(last.seq);
    }
    return await stream.ended;
  } finally {
    signal.removeEventListener('abort', close);
  }
}
