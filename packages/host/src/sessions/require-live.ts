import { SessionNotLiveError } from './session-errors.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';

/** A session that another backend drives is left alone (OWNERSHIP-002.3). */
export function assertOurs({ takenOver }: HostServices, sessionId: string): void {
  const error = takenOver.get(sessionId);
  if (error !== undefined) throw error;
}

/** The execution of a session that this host drives and whose instance lives, or the error that says it does not. */
export function requireLive(services: HostServices, sessionId: string): LiveExecution {
  services.closed.throwIfAborted();
  assertOurs(services, sessionId);
  const live = services.live.get(sessionId);
  if (live === undefined) throw new SessionNotLiveError(sessionId);
  return live;
}
