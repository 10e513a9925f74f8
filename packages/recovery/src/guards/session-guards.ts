import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { OnRecoveryEvent } from '../events/recovery-event.ts';
import { AgentUnstoppableError, SessionRecoveringError } from './launch-errors.ts';

/** Whether a session may be launched now. */
export type LaunchAdmission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly error: SessionRecoveringError | AgentUnstoppableError };

/**
 * Sessions whose recovery has no outcome yet, or that have an instance which could not be stopped. Launches consult it, so
 * that no session ever gets a second agent (SURVIVAL-002.8, .16). In memory, for one backend's life.
 */
export class SessionGuards {
  readonly #retryAfterMs: number;
  readonly #onEvent: OnRecoveryEvent;
  /** The instances that hold the session for good; empty while its recovery is under way. */
  readonly #guards = new Map<string, ReadonlySet<string>>();

  /** `retryAfterMs`: the hint that a refused launch is given. */
  constructor(options: { readonly retryAfterMs: number; readonly onEvent?: OnRecoveryEvent }) {
    this.#retryAfterMs = options.retryAfterMs;
    this.#onEvent = options.onEvent ?? (() => undefined);
  }

  /** Takes the guard of a session, or says that it is taken already, in one step. */
  acquire(sessionId: string): 'acquired' | 'observed' {
    if (this.#guards.has(sessionId)) return 'observed';
    this.#guards.set(sessionId, new Set());
    return 'acquired';
  }

  /** Gives the session free. One that is held for good stays held. */
  release(sessionId: string): void {
    if (this.#guards.get(sessionId)?.size === 0) this.#guards.delete(sessionId);
  }

  /** Guards the session for the rest of this backend's life because of these instances, in addition to others. */
  holdForGood(sessionId: string, instanceIds: readonly string[]): void {
    this.#guards.set(sessionId, new Set([...(this.#guards.get(sessionId) ?? []), ...instanceIds]));
  }

  /** Whether the session's recovery, a stop that it waits for included, has not come to its outcome. Refuses nothing. */
  isRecovering(sessionId: string): boolean {
    return this.#guards.get(sessionId)?.size === 0;
  }

  /** To be asked, synchronously, before a session is launched. */
  admitLaunch(sessionId: string): LaunchAdmission {
    const holders = this.#guards.get(sessionId);
    if (holders === undefined) return { kind: 'admitted' };
    const error =
      holders.size === 0
        ? new SessionRecoveringError({ sessionId, retryAfterMs: this.#retryAfterMs })
        : new AgentUnstoppableError({ sessionId, instanceIds: [...holders] });
    this.#onEvent({ name: 'launch.refused', sessionId, why: error.code });
    return { kind: 'refused', error };
  }
}

/** The sessions that are guarded while recovery runs: all but passthrough ones; an unreadable mode is guarded (SURVIVAL-005.3). */
export function sessionsToGuard(rows: readonly ExecutionRecord[]): ReadonlySet<string> {
  return new Set(
    rows.filter(({ sessionMode }) => sessionMode !== 'passthrough').map(({ sessionId }) => sessionId),
  );
}
