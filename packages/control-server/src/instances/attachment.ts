import type { Journal, JournalReader } from '../journal/journal.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Activity } from './activity.ts';

/** The event stream of an instance, as far as the instance ends it. */
export interface InstanceStream extends JournalReader {
  readonly close: (why: 'replaced' | 'instanceStopped') => void;
}

/** What hears of it that a backend is attached to an instance or no longer is. */
export interface AttachmentParts {
  readonly journal: Pick<Journal, 'attach' | 'detach'>;
  readonly permissions: Pick<Permissions, 'attachmentChanged'>;
  readonly activity: Pick<Activity, 'touch'>;
}

/** The place of an instance's event stream: while one is in it, a backend is attached. */
export class Attachment {
  readonly #parts: AttachmentParts;
  #stream: InstanceStream | null = null;

  constructor(parts: AttachmentParts) {
    this.#parts = parts;
  }

  get isAttached(): boolean {
    return this.#stream !== null;
  }

  /** Makes a stream the instance's own; another one is closed. */
  attach(stream: InstanceStream): void {
    const before = this.#stream;
    this.#stream = stream;
    before?.close('replaced');
    this.#parts.journal.attach(stream);
    this.#changed();
  }

  /** That stream has ended. */
  detach(stream: InstanceStream): void {
    if (this.#stream !== stream) return;
    this.#stream = null;
    this.#parts.journal.detach(stream);
    this.#changed();
  }

  /** Closes the stream, if there is one: the instance is stopped. */
  close(): void {
    this.#stream?.close('instanceStopped');
  }

  #changed(): void {
    this.#parts.activity.touch();
    this.#parts.permissions.attachmentChanged();
  }
}
