/** How large a modelled event is, and what became of it. */
interface ModelledEvent {
  readonly bytes: number;
  fate: 'waits' | 'kept' | 'withdrawn' | 'stopped';
}

/**
 * What `30-events` of the specification says of a journal, as a second, simpler program: events are known by the order in which
 * they were handed in, counted from 0, and everything is worked out anew from their fates.
 */
export class JournalModel {
  readonly #detachedLimit: number;
  readonly #attachedLimit: number;
  readonly #maxBytes: number;
  readonly #events: ModelledEvent[] = [];
  /** The events that were let in, in order: the place in this list is the sequence number less one. */
  readonly admitted: number[] = [];
  #acknowledged = 0;
  #isStopped = false;
  isAttached = false;

  constructor(limits: {
    readonly detachedLimit: number;
    readonly attachedLimit: number;
    readonly maxBytes: number;
  }) {
    this.#detachedLimit = limits.detachedLimit;
    this.#attachedLimit = limits.attachedLimit;
    this.#maxBytes = limits.maxBytes;
  }

  get limit(): number {
    return this.isAttached ? this.#attachedLimit : this.#detachedLimit;
  }

  /** The sequence numbers that are inside. */
  get inside(): number[] {
    if (this.#isStopped) return [];
    return this.admitted.map((_, index) => index + 1).slice(this.#acknowledged);
  }

  get waiting(): number {
    return this.#events.filter(({ fate }) => fate === 'waits').length;
  }

  get fates(): Array<ModelledEvent['fate']> {
    return this.#events.map(({ fate }) => fate);
  }

  hand(bytes: number): void {
    this.#events.push({ bytes, fate: this.#isStopped ? 'stopped' : 'waits' });
    this.#letIn();
  }

  withdraw(event: number): void {
    const withdrawn = this.#events[event];
    if (withdrawn?.fate === 'waits') withdrawn.fate = 'withdrawn';
    this.#letIn();
  }

  acknowledge(seq: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, Math.min(seq, this.admitted.length));
    this.#letIn();
  }

  attached(isAttached: boolean): void {
    this.isAttached = isAttached;
    this.#letIn();
  }

  stop(): void {
    this.#isStopped = true;
    for (const event of this.#events) if (event.fate === 'waits') event.fate = 'stopped';
  }

  #letIn(): void {
    if (this.#isStopped) return;
    for (const [index, event] of this.#events.entries()) {
      if (event.fate !== 'waits') continue;
      const inside = this.inside.length;
      const bytes = this.inside.reduce((sum, seq) => sum + this.#bytesOf(this.admitted[seq - 1]), 0);
      const fits = inside < this.limit && bytes + event.bytes <= this.#maxBytes;
      // First come, first served: nobody passes one that waits.
      if (inside > 0 && !fits) return;
      event.fate = 'kept';
      this.admitted.push(index);
    }
  }

  #bytesOf(event: number | undefined): number {
    return event === undefined ? 0 : (this.#events[event]?.bytes ?? 0);
  }
}
