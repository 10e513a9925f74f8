import { LONGEST_STEP_MS } from '../../src/ports/running-clock.ts';

/** What a caller does to a server. `by` says with which of the credentials issued so far, counted from 0; -1 is made up. */
export type OwnershipCall =
  | { readonly does: 'rotate' | 'claim' | 'drive' | 'look'; readonly by: number }
  | { readonly does: 'confirm'; readonly by: number; readonly rotationId: number };

/** What the server should answer: the code of its refusal, or the facts of its answer. */
export type OwnershipAnswer = string | Readonly<Record<string, unknown>>;

/**
 * What `20-ownership` of the specification says, as a second, simpler program: credential n is that of rotation n + 1, and time
 * passes when the test says so.
 */
export class OwnershipModel {
  readonly periodMs: number;
  #now = 0;
  #issued = 1;
  #confirmed = true;
  #windowEndsAt = -1;
  #renewedAt = 0;

  constructor(periodMs: number) {
    this.periodMs = periodMs;
  }

  get issued(): number {
    return this.#issued;
  }

  get isUnowned(): boolean {
    return this.untilUnowned <= 0;
  }

  get untilUnowned(): number {
    return this.#renewedAt + this.periodMs - this.#now;
  }

  /** The time until the superseded credential is forgotten; 0 when there is none. */
  get untilWindowEnds(): number {
    return this.#confirmed ? 0 : Math.max(0, this.#windowEndsAt - this.#now);
  }

  /** The one credential that drives. */
  get newest(): number {
    return this.#issued - 1;
  }

  /** The credentials that authenticate anything. */
  get acceptable(): number[] {
    return this.untilWindowEnds > 0 ? [this.newest - 1, this.newest] : [this.newest];
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** The process stands still, right after it looked at the time. */
  standStill(ms: number): void {
    this.#now += Math.min(ms, LONGEST_STEP_MS);
  }

  call(call: OwnershipCall): OwnershipAnswer {
    if (!this.acceptable.includes(call.by)) return 'credential_unknown';
    const drives = call.by === this.newest;
    if (!drives && call.does !== 'rotate' && call.does !== 'look') return 'credential_superseded';
    switch (call.does) {
      case 'rotate':
        return this.#rotate(drives);
      case 'confirm':
        return this.#confirm(call.rotationId);
      case 'claim':
        this.#renewedAt = this.#now;
        return { expiresInMs: this.periodMs };
      case 'drive':
        return { rotationId: this.#issued };
      case 'look':
        return { rotationId: this.#issued, confirmed: this.#confirmed };
    }
  }

  #rotate(drives: boolean): OwnershipAnswer {
    if (drives) {
      this.#issued += 1;
      this.#confirmed = false;
    }
    this.#renewedAt = this.#now;
    this.#windowEndsAt = this.#now + this.periodMs;
    return { rotationId: this.#issued, credential: this.newest, replayed: !drives };
  }

  #confirm(rotationId: number): OwnershipAnswer {
    if (rotationId > this.#issued) return 'rotation_unknown';
    const effective = rotationId === this.#issued && !this.#confirmed;
    if (effective) this.#confirmed = true;
    return { rotationId, effective };
  }
}
