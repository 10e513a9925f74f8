import { createHash, timingSafeEqual } from 'node:crypto';

/** One credential that the server issued. It lives in memory only. */
export interface HeldCredential {
  readonly rotationId: number;
  readonly credential: string;
}

/**
 * Who may do what: the newest credential drives; the one it directly superseded may only adopt again or shut down, until
 * the newest is confirmed or one unowned period has passed since it last rotated. There are never more than these two
 * (OWNERSHIP-002.8).
 */
export interface CredentialRing {
  /** Null until the bootstrap. */
  readonly newest: HeldCredential | null;
  readonly superseded: (HeldCredential & { readonly acceptableUntil: number }) | null;
  readonly confirmed: boolean;
}

/** What a presented credential is to the ring. */
export type Standing = 'newest' | 'superseded' | 'unknown';

/** What happens to the ring. Times are monotonic milliseconds, `fresh` is the credential to issue if one is issued. */
export type RingEvent =
  | { readonly type: 'bootstrap'; readonly fresh: string }
  | {
      readonly type: 'rotate';
      readonly presented: string;
      readonly fresh: string;
      readonly now: number;
      readonly unownedPeriodMs: number;
    }
  | {
      readonly type: 'confirm';
      readonly presented: string;
      readonly rotationId: number;
      readonly now: number;
    };

export type RingAnswer =
  | { readonly kind: 'issued'; readonly held: HeldCredential; readonly replayed: boolean }
  | { readonly kind: 'confirmed'; readonly rotationId: number; readonly effective: boolean }
  | {
      readonly kind: 'refused';
      readonly code:
        | 'credential_unknown'
        | 'credential_superseded'
        | 'rotation_unknown'
        | 'bootstrap_consumed';
    };

/** The ring after an event, and what to answer. */
export interface RingStep {
  readonly ring: CredentialRing;
  readonly answer: RingAnswer;
}

export const EMPTY_RING: CredentialRing = { newest: null, superseded: null, confirmed: false };

/** What `presented` is to the ring at `now`. Takes the same time whatever the secrets have in common. */
export function standingOf(ring: CredentialRing, presented: string, now: number): Standing {
  const isNewest = sameSecret(ring.newest?.credential, presented);
  const isSuperseded = sameSecret(ring.superseded?.credential, presented);
  if (isNewest) return 'newest';
  return isSuperseded && ring.superseded !== null && now < ring.superseded.acceptableUntil
    ? 'superseded'
    : 'unknown';
}

/** The credentials that authenticate anything at `now`, at most two, the newest first. */
export function acceptableCredentials(ring: CredentialRing, now: number): readonly HeldCredential[] {
  const superseded =
    ring.superseded !== null && now < ring.superseded.acceptableUntil ? ring.superseded : null;
  return [ring.newest, superseded].filter((held) => held !== null);
}

/** The transition table of the ring. */
export function reduceRing(ring: CredentialRing, event: RingEvent): RingStep {
  switch (event.type) {
    case 'bootstrap': {
      if (ring.newest !== null) return refused(ring, 'bootstrap_consumed');
      const held = { rotationId: 1, credential: event.fresh };
      return {
        ring: { newest: held, superseded: null, confirmed: true },
        answer: { kind: 'issued', held, replayed: false },
      };
    }
    case 'rotate':
      return rotate(ring, event);
    case 'confirm':
      return confirm(ring, event);
  }
}

function rotate(ring: CredentialRing, event: Extract<RingEvent, { type: 'rotate' }>): RingStep {
  const standing = standingOf(ring, event.presented, event.now);
  const acceptableUntil = event.now + event.unownedPeriodMs;
  if (standing === 'unknown' || ring.newest === null) return refused(ring, 'credential_unknown');
  if (standing === 'superseded') {
    // A backend that came back in time keeps its window, as it keeps the server: each replay renews ownership too.
    const superseded = ring.superseded && { ...ring.superseded, acceptableUntil };
    return {
      ring: { ...ring, superseded },
      answer: { kind: 'issued', held: ring.newest, replayed: true },
    };
  }
  const held = { rotationId: ring.newest.rotationId + 1, credential: event.fresh };
  const superseded = { ...ring.newest, acceptableUntil };
  return {
    ring: { newest: held, superseded, confirmed: false },
    answer: { kind: 'issued', held, replayed: false },
  };
}

function confirm(ring: CredentialRing, event: Extract<RingEvent, { type: 'confirm' }>): RingStep {
  const standing = standingOf(ring, event.presented, event.now);
  if (standing === 'superseded') return refused(ring, 'credential_superseded');
  if (standing === 'unknown' || ring.newest === null) return refused(ring, 'credential_unknown');
  const { rotationId } = event;
  if (rotationId > ring.newest.rotationId) return refused(ring, 'rotation_unknown');
  if (rotationId < ring.newest.rotationId || ring.confirmed) {
    return { ring, answer: { kind: 'confirmed', rotationId, effective: false } };
  }
  return {
    ring: { newest: ring.newest, superseded: null, confirmed: true },
    answer: { kind: 'confirmed', rotationId, effective: true },
  };
}

function refused(ring: CredentialRing, code: Extract<RingAnswer, { kind: 'refused' }>['code']): RingStep {
  return { ring, answer: { kind: 'refused', code } };
}

/** Compares secrets in constant time; an absent one equals nothing. */
export function sameSecret(held: string | undefined, presented: string): boolean {
  const equal = timingSafeEqual(digest(held ?? ''), digest(presented));
  return held !== undefined && equal;
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
