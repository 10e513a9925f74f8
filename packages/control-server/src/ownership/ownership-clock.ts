/** How long nobody has owned the server. Monotonic milliseconds; before the first renewal it runs from the start. */
export interface OwnershipClock {
  readonly renewedAt: number;
  readonly periodMs: number;
}

/** A clock that starts at `now`. */
export function startOwnershipClock(now: number, periodMs: number): OwnershipClock {
  return { renewedAt: now, periodMs };
}

/** The clock after a claim, the bootstrap or a rotation; nothing else renews it (OWNERSHIP-003.8). */
export function renewOwnership(clock: OwnershipClock, now: number): OwnershipClock {
  return { ...clock, renewedAt: Math.max(clock.renewedAt, now) };
}

/** Whether the unowned period has passed: age at or above it (OWNERSHIP-003.2). */
export function hasExpired(clock: OwnershipClock, now: number): boolean {
  return now - clock.renewedAt >= clock.periodMs;
}

/** What is left of the period, never negative. */
export function remainingMs(clock: OwnershipClock, now: number): number {
  return Math.max(0, clock.renewedAt + clock.periodMs - now);
}
