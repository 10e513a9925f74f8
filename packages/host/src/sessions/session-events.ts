import type { ReadEvents, StoredEvent } from '@holdfast/turn-ledger';
import type { ExecutionServices } from './execution-services.ts';

const PAGE = 500;

/**
 * The events of a session after a position, first those in the ledger, then each as it is stored; ends when the signal
 * aborts. Positions count from 1 without gaps over all executions of the session, in whichever process they were stored.
 */
export async function* sessionEvents(
  ports: Pick<ExecutionServices, 'ledger' | 'patience' | 'stored'>,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void> {
  const aborted = Promise.withResolvers<void>();
  const onAbort = (): void => {
    aborted.resolve();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const over = (): boolean => signal.aborted;
    let position = after;
    while (!over()) {
      const more = ports.stored.next(sessionId);
      const range = { after: position, limit: PAGE };
      const page = await nextPage(ports, sessionId, range, signal);
      if (page.length === 0) await Promise.race([more, aborted.promise]);
      for (const event of page) {
        if (over()) return;
        position = event.position;
        yield event;
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits where the ledger is away: what is not stored yet comes later. Nothing when the signal aborts. */
async function nextPage(
  { ledger, patience }: Pick<ExecutionServices, 'ledger' | 'patience'>,
  sessionId: string,
  range: ReadEvents,
  signal: AbortSignal,
): Promise<readonly StoredEvent[]> {
  try {
    return await patience.insist(async () => await ledger.events.read(sessionId, range), signal);
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}
