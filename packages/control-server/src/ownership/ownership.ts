import { ControlError, ownershipProof, type AccessClass } from '@holdfast/control-protocol';
import type { Clock } from '../ports/clock.ts';
import { randomSecret, type RandomBytes } from '../ports/random.ts';
import {
  EMPTY_RING,
  acceptableCredentials,
  reduceRing,
  sameSecret,
  standingOf,
  type CredentialRing,
  type HeldCredential,
  type RingAnswer,
  type RingEvent,
} from './credential-ring.ts';
import { credentialError } from './credential-error.ts';
import {
  hasExpired,
  remainingMs,
  renewOwnership,
  startOwnershipClock,
  type OwnershipClock,
} from './ownership-clock.ts';
import { OPEN_LATCH, closeLatch, type ShutdownCause, type ShutdownLatch } from './shutdown-latch.ts';

/** What ownership needs from the rest of the server. */
export interface OwnershipOptions {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly serverId: string;
  /** The unowned period in force, in milliseconds. */
  readonly unownedPeriodMs: number;
  /** The one-time secret of the bootstrap; null when nobody may bootstrap this server. */
  readonly nonce: string | null;
  /** How many instances there are at this moment. */
  readonly countInstances: () => number;
}

/**
 * The ring, the clock and the latch of one server, fed with real time and randomness. Every refusal is a `ControlError`.
 */
export class Ownership {
  readonly #options: OwnershipOptions;
  #ring: CredentialRing = EMPTY_RING;
  #clock: OwnershipClock;
  #latch: ShutdownLatch = OPEN_LATCH;
  #cancelExpiry: () => void;
  readonly #closing = Promise.withResolvers<ShutdownCause>();
  readonly #onRotated = new Set<() => void>();

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#clock = startOwnershipClock(options.clock.now(), options.unownedPeriodMs);
    this.#cancelExpiry = this.#armExpiry();
  }

  /** Resolves when the decision to stop is taken, with its cause. */
  get closing(): Promise<ShutdownCause> {
    return this.#closing.promise;
  }

  /** The newest rotation and whether it is confirmed; zero before the bootstrap. */
  get rotation(): { readonly rotationId: number; readonly confirmed: boolean } {
    return { rotationId: this.#ring.newest?.rotationId ?? 0, confirmed: this.#ring.confirmed };
  }

  /** Calls back whenever a new credential took the newest one's place. */
  onRotated(listener: () => void): () => void {
    this.#onRotated.add(listener);
    return () => {
      this.#onRotated.delete(listener);
    };
  }

  /** Throws unless `presented` may call operations of this class now. */
  authorize(access: AccessClass, presented: string | undefined): void {
    if (access === 'open') return;
    if (presented === undefined) throw credentialError('credential_required');
    const standing = standingOf(this.#ring, presented, this.#options.clock.now());
    if (standing === 'unknown') throw credentialError('credential_unknown');
    if (standing === 'superseded' && access === 'driver') throw credentialError('credential_superseded');
  }

  /** Exchanges the nonce for the first credential, once. A wrong nonce consumes nothing. */
  bootstrap(nonce: string): HeldCredential {
    const { nonce: expected, random } = this.#options;
    if (!sameSecret(expected ?? undefined, nonce)) {
      throw new ControlError('bootstrap_rejected', 'This is not the bootstrap nonce of this server.');
    }
    this.refuseWhenClosing();
    const { held } = issued(this.#step({ type: 'bootstrap', fresh: randomSecret(random) }));
    this.#renew();
    return held;
  }

  /** Replaces the credential, or repeats the last replacement (OWNERSHIP-002.10). */
  rotate(presented: string): { readonly held: HeldCredential; readonly replayed: boolean } {
    this.refuseWhenClosing();
    const { random, clock, unownedPeriodMs } = this.#options;
    const fresh = randomSecret(random);
    const { held, replayed } = issued(
      this.#step({ type: 'rotate', presented, fresh, now: clock.now(), unownedPeriodMs }),
    );
    this.#renew();
    if (!replayed) for (const listener of this.#onRotated) listener();
    return { held, replayed };
  }

  /** Takes the superseded credential away; true when this call did it. */
  confirm(presented: string, rotationId: number): boolean {
    const answer = this.#step({ type: 'confirm', presented, rotationId, now: this.#options.clock.now() });
    return answer.kind === 'confirmed' && answer.effective;
  }

  /** Renews ownership; the answer is the time until it expires, in whole milliseconds. */
  claim(): number {
    this.refuseWhenClosing();
    this.#renew();
    return Math.floor(remainingMs(this.#clock, this.#options.clock.now()));
  }

  /** One proof for each acceptable credential, the newest first (OWNERSHIP-001.10). */
  async prove(challenge: string, audience: string): Promise<Array<{ rotationId: number; proof: string }>> {
    const { serverId, clock } = this.#options;
    return await Promise.all(
      acceptableCredentials(this.#ring, clock.now()).map(async ({ rotationId, credential }) => ({
        rotationId,
        proof: await ownershipProof({ credential, serverId, audience, challenge }),
      })),
    );
  }

  /** Decides to stop, unless that is decided already; gives how many instances there were at the decision. */
  shutDown(cause: ShutdownCause): number {
    const before = this.#latch;
    const latch = closeLatch(before, cause, this.#options.countInstances());
    this.#latch = latch;
    if (latch.state === 'open') return 0;
    if (before.state === 'open') {
      this.#cancelExpiry();
      this.#closing.resolve(latch.cause);
    }
    return latch.instances;
  }

  /** Throws `shutting_down` once the decision to stop is taken; an expiry that is due is taken here. */
  refuseWhenClosing(): void {
    this.#expireWhenDue();
    if (this.#latch.state === 'closing') {
      throw new ControlError('shutting_down', 'The server is stopping; start a fresh one.');
    }
  }

  #step(event: RingEvent): RingAnswer {
    const { ring, answer } = reduceRing(this.#ring, event);
    this.#ring = ring;
    if (answer.kind === 'refused') throw credentialError(answer.code);
    return answer;
  }

  #renew(): void {
    this.#clock = renewOwnership(this.#clock, this.#options.clock.now());
    this.#cancelExpiry();
    this.#cancelExpiry = this.#armExpiry();
  }

  #armExpiry(): () => void {
    const { clock } = this.#options;
    return clock.setTimer(remainingMs(this.#clock, clock.now()), () => {
      this.#expireWhenDue();
      // A timer may fire a little early.
      if (this.#latch.state === 'open') this.#cancelExpiry = this.#armExpiry();
    });
  }

  #expireWhenDue(): void {
    if (this.#latch.state === 'open' && hasExpired(this.#clock, this.#options.clock.now())) {
      this.shutDown('unowned');
    }
  }
}

function issued(answer: RingAnswer): Extract<RingAnswer, { kind: 'issued' }> {
  if (answer.kind !== 'issued')
    throw new TypeError(`the ring answered ${answer.kind} instead of a credential`);
  return answer;
}
