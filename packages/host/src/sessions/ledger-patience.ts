import { setTimeout as delay } from 'node:timers/promises';
import { LedgerUnavailableError } from '@holdfast/turn-ledger';
import type { HostEvents } from '../host-events.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** What a host needs to know of its ledger's absence. */
export interface PatienceParts {
  readonly events: HostEvents;
  /** Whether the installation is certainly this host's; while it is not, nothing is written. */
  readonly isCertain: () => boolean;
  /** The ledger, for a person; never a secret. */
  readonly place: string;
}

/**
 * Does again what a ledger that is away could not do, until it is back, and tells of the outage once. Whoever waits here holds
 * back: no acknowledgement goes out, and a stream that is not read makes its server and agent wait.
 */
export class LedgerPatience {
  readonly #parts: PatienceParts;
  #awaySince: number | undefined;

  constructor(parts: PatienceParts) {
    this.#parts = parts;
  }

  /**
   * The result of the work, which may run many times. Throws what is no sign of an outage, and the signal's reason. Work whose
   * commit may have been stored is told so the next time.
   */
  async insist<T>(work: (inDoubt: boolean) => Promise<T>, signal: AbortSignal): Promise<T> {
    let inDoubt = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted();
      try {
        this.assertCertain();
        const result = await work(inDoubt);
        this.#back();
        return result;
      } catch (error) {
        if (!isAway(error)) throw error;
        inDoubt ||= error.mayBeStored;
        this.#away(error);
      }
      // Never all at once when it comes back.
      await delay(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Does the work now or, where the ledger is away, as soon as it is back: then nobody waits, and a failure is told as an event. */
  async nowOrLater(what: string, work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isAway(error)) throw error;
      this.insist(work, signal).catch((later: unknown) => {
        if (!signal.aborted) this.#parts.events.publish({ name: 'host.error', what, error: later });
      });
    }
  }

  /** Throws `LedgerUnavailableError` while it is not certain that the installation is this host's. */
  assertCertain(): void {
    const { isCertain, place } = this.#parts;
    if (isCertain()) return;
    const detail = 'its lock is being taken again';
    throw new LedgerUnavailableError({ reason: 'connection_lost', path: place, detail });
  }

  #away(error: LedgerUnavailableError): void {
    if (this.#awaySince !== undefined) return;
    this.#awaySince = performance.now();
    const { reason, path, message } = error;
    this.#parts.events.publish({ name: 'ledger.unavailable', reason, place: path, detail: message });
  }

  #back(): void {
    if (this.#awaySince === undefined) return;
    const awayMs = Math.round(performance.now() - this.#awaySince);
    this.#awaySince = undefined;
    this.#parts.events.publish({ name: 'ledger.available', awayMs });
  }
}

/** Whether an error says that the ledger may come back. */
export function isAway(error: unknown): error is LedgerUnavailableError {
  return error instanceof LedgerUnavailableError && error.reason !== 'closed';
}
