import { STREAM_WINDOW_EVENTS, type CoveredEvent, type ExcludedEvent } from '@holdfast/control-protocol';
import type { Clock } from '../ports/clock.ts';
import { hasRoom } from './capacity.ts';
import { JournalCounters, type JournalFigures } from './journal-counters.ts';

/** An event in its place; `json` is the `SequencedEvent` as it goes on the wire, `bytes` the size of its event. */
export interface JournalEntry {
  readonly seq: number;
  readonly json: string;
  readonly bytes: number;
}

/** The place that an event got, in the same synchronous step in which it got it. */
export interface Admission {
  readonly seq: number;
  readonly at: string;
}

/** The event was not kept because its instance stopped. */
export class JournalStoppedError extends Error {
  override readonly name = 'JournalStoppedError';
  readonly code = 'journal_stopped';

  constructor() {
    super('The instance has stopped and takes no more events.');
  }
}

/** The publisher took its event back before there was room for it. */
export class PublishWithdrawnError extends Error {
  override readonly name = 'PublishWithdrawnError';
  readonly code = 'publish_withdrawn';

  constructor() {
    super('The event was taken back before the journal had room for it.');
  }
}

interface Waiter {
  readonly eventJson: string;
  readonly bytes: number;
  readonly admitted: (admission: Admission) => void;
  readonly rejected: (error: Error) => void;
}

/** Where a journal's owner hears of what happens in it. */
export interface JournalReader {
  /** There is something new to read. */
  readonly onAppended: () => void;
  /** An event of an excluded class, as JSON, which is kept nowhere; false when it was let go. */
  readonly onLossy: (eventJson: string) => boolean;
}

/** What a journal is made with. */
export interface JournalOptions {
  readonly clock: Clock;
  /** How many unacknowledged events it takes while it has no reader. */
  readonly detachedLimit: number;
  /** How many bytes of them it takes, with a reader or without. */
  readonly maxBytes: number;
  /** The first event of an excluded class is let go; the others of its class are only counted. */
  readonly onFirstDropped: (type: ExcludedEvent['type']) => void;
}

/**
 * The ordered events of one instance that no backend has acknowledged. Publishers wait, first come first served, while
 * there is no room: fewer events than the detached limit without a reader, than the window with one, and a bound on bytes.
 */
export class Journal {
  readonly #clock: Clock;
  readonly #detachedLimit: number;
  readonly #maxBytes: number;
  readonly #counters: JournalCounters;
  #entries: JournalEntry[] = [];
  #bytes = 0;
  #nextSeq = 1;
  #waiters: Waiter[] = [];
  #reader: JournalReader | null = null;
  #stopped = false;

  constructor({ clock, detachedLimit, maxBytes, onFirstDropped }: JournalOptions) {
    this.#clock = clock;
    this.#detachedLimit = detachedLimit;
    this.#maxBytes = maxBytes;
    this.#counters = new JournalCounters(clock, onFirstDropped);
  }

  /** The sequence number that the next event gets. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get unacknowledged(): number {
    return this.#entries.length;
  }

  /** Whether a publisher waits for room. */
  get paused(): boolean {
    return this.#waiters.length > 0;
  }

  get attached(): boolean {
    return this.#reader !== null;
  }

  get figures(): JournalFigures {
    return this.#counters.read();
  }

  /**
   * Keeps an event, waiting for room as long as it takes. `onAdmitted` runs in the step in which it gets its place. Rejects
   * with {@link JournalStoppedError} when the instance stops, with {@link PublishWithdrawnError} when the signal aborts first.
   */
  publish(
    event: CoveredEvent,
    options: { readonly onAdmitted?: (admission: Admission) => void; readonly signal?: AbortSignal } = {},
  ): Promise<Admission> {
    const { onAdmitted, signal } = options;
    return new Promise((resolve, reject) => {
      if (this.#stopped) {
        reject(new JournalStoppedError());
        return;
      }
      if (signal?.aborted === true) {
        reject(new PublishWithdrawnError());
        return;
      }
      const eventJson = JSON.stringify(event);
      const withdraw = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(new PublishWithdrawnError());
        this.#admitWaiters();
      };
      const waiter: Waiter = {
        eventJson,
        bytes: Buffer.byteLength(eventJson),
        admitted: (admission) => {
          signal?.removeEventListener('abort', withdraw);
          onAdmitted?.(admission);
          resolve(admission);
        },
        rejected: (error) => {
          signal?.removeEventListener('abort', withdraw);
          reject(error);
        },
      };
      signal?.addEventListener('abort', withdraw, { once: true });
      this.#waiters.push(waiter);
      this.#admitWaiters();
    });
  }

  /** Tells the reader, if there is one, of an event that nobody keeps. Never waits; counts what nobody was told. */
  publishLossy(event: ExcludedEvent): void {
    const isTold = this.#reader?.onLossy(JSON.stringify(event)) ?? false;
    if (!isTold) this.#counters.dropped(event.type);
  }

  /** A reader has come; it takes the place of any other. The limit rises and waiters enter. */
  attach(reader: JournalReader): void {
    this.#reader = reader;
    this.#admitWaiters();
  }

  /** That reader has gone. The limit falls; what is inside stays. */
  detach(reader: JournalReader): void {
    if (this.#reader === reader) this.#reader = null;
  }

  /** Everything up to `seq` is durably stored elsewhere: it leaves, and waiters enter. */
  acknowledge(seq: number): void {
    const first = this.#entries[0];
    if (first === undefined || seq < first.seq) return;
    const gone = this.#entries.splice(0, seq - first.seq + 1);
    for (const entry of gone) this.#bytes -= entry.bytes;
    this.#admitWaiters();
  }

  /**
   * The entries after `seq`, as many as fit into `maxBytes`, at least one if there is any. Those beyond the window come once enough
   * before them is acknowledged: with a higher detached limit there may be more than may be in flight.
   */
  readAfter(seq: number, maxBytes: number): readonly JournalEntry[] {
    const first = this.#entries[0];
    if (first === undefined) return [];
    const start = Math.max(0, seq + 1 - first.seq);
    let end = start;
    let bytes = 0;
    for (let entry = this.#entries[end]; entry !== undefined; entry = this.#entries[end]) {
      bytes += entry.bytes;
      if (end === STREAM_WINDOW_EVENTS || (end > start && bytes > maxBytes)) break;
      end += 1;
    }
    return this.#entries.slice(start, end);
  }

  /** Releases every waiter at once and drops what nobody has read (SURVIVAL-001.10). */
  stop(): void {
    this.#stopped = true;
    const waiters = this.#waiters;
    this.#waiters = [];
    this.#entries = [];
    this.#bytes = 0;
    this.#counters.paused(false);
    for (const waiter of waiters) waiter.rejected(new JournalStoppedError());
  }

  #admitWaiters(): void {
    const limits = {
      events: this.#reader === null ? this.#detachedLimit : STREAM_WINDOW_EVENTS,
      bytes: this.#maxBytes,
    };
    let appended = false;
    for (let waiter = this.#waiters[0]; waiter !== undefined; waiter = this.#waiters[0]) {
      const { bytes } = waiter;
      if (!hasRoom({ events: this.#entries.length, bytes: this.#bytes }, limits, bytes)) break;
      const seq = this.#nextSeq;
      const at = this.#clock.wall().toISOString();
      const json = `{"seq":${String(seq)},"at":"${at}","event":${waiter.eventJson}}`;
      this.#waiters.shift();
      this.#entries.push({ seq, json, bytes });
      this.#bytes += bytes;
      this.#nextSeq += 1;
      appended = true;
      waiter.admitted({ seq, at });
    }
    this.#counters.paused(this.paused);
    if (appended) this.#reader?.onAppended();
  }
}
