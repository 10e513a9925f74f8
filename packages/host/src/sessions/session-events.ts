import type { Ledger, StoredEvent } from '@holdfast/turn-ledger';
import type { StoredNotice } from './stored-notice.ts';

const PAGE = 500;

/**
 * The events of a session after a position, first those in the ledger, then each as it is stored; ends when the signal
 * aborts. Positions count from 1 without gaps over all executions of the session, in whichever process they were stored.
 */
export async function* sessionEvents(
  ports: { readonly ledger: Ledger; readonly stored: StoredNotice },
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
      const page = await ports.ledger.events.read(sessionId, { after: position, limit: PAGE });
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
