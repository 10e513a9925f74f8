/**
 * The gaps between the steps of ownership, in the order in which a backend passes them. A backend that dies in one has done the
 * step that the gap is named after, and nothing of what comes later. Whatever its gap, the next backend adopts or starts fresh
 * (OWNERSHIP-002.7).
 */
export const ADOPTION_POINTS = [
  // Is the server on record ours? A survivor is ended along the same way.
  'adoption.record_read',
  'adoption.dialled',
  'adoption.identity_read',
  'adoption.secret_read',
  'adoption.proven',
  'adoption.authenticated',
  // The credential is replaced.
  'rotation.answered',
  'rotation.proven',
  'rotation.secret_written',
  'rotation.record_written',
  'rotation.confirmed',
  'rotation.renewing',
  'rotation.old_secret_removed',
  // First ownership of a server that was just started; the last one only where the server before it is known to be gone.
  'bootstrap.identity_read',
  'bootstrap.answered',
  'bootstrap.authenticated',
  'bootstrap.secret_written',
  'bootstrap.record_written',
  'bootstrap.renewing',
  'bootstrap.old_secret_removed',
  // A server is stopped: an own one, an incompatible one, a survivor; the first only where it was being renewed.
  'shutdown.renewal_stopped',
  'shutdown.answered',
  'shutdown.ended',
] as const;

/** One of {@link ADOPTION_POINTS}. */
export type AdoptionPoint = (typeof ADOPTION_POINTS)[number];
