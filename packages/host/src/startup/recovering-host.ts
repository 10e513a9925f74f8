import type { SessionGuards } from '@holdfast/recovery';
import { SessionRecoveringError, classifyLiveness } from '@holdfast/recovery';
import type { SessionLiveness } from '../liveness/session-liveness.ts';

/** What a host offers while it recovers: every launch is refused, retryably (SURVIVAL-002.8). */
export interface RecoveringHost {
  readonly sessions: {
    /** Always rejects with `SessionRecoveringError`. */
    create(options: { readonly sessionId?: string }): Promise<never>;
    /** Always rejects with `SessionRecoveringError`, or with `AgentUnstoppableError` once that is known. */
    prompt(sessionId: string): Promise<never>;
    /** `unknown`, without asking anybody: recovery has not come to its outcome. */
    liveness(sessionId: string): Promise<SessionLiveness>;
  };
}

/** The stand-in for a host until recovery is over. `retryAfterMs` is the hint for sessions that have no guard. */
export function recoveringHost(guards: SessionGuards, retryAfterMs: number): RecoveringHost {
  const refusal = (sessionId: string): Error => {
    const admission = guards.admitLaunch(sessionId);
    // A session without a guard must wait as well: what it would be launched on is not there yet.
    return admission.kind === 'refused'
      ? admission.error
      : new SessionRecoveringError({ sessionId, retryAfterMs });
  };
  return {
    sessions: {
      create: async ({ sessionId = 'new' }) => await Promise.reject(refusal(sessionId)),
      prompt: async (sessionId) => await Promise.reject(refusal(sessionId)),
      liveness: async () =>
        await Promise.resolve({
          liveness: classifyLiveness({ kind: 'recovering' }),
          why: 'the sessions of this host are being recovered',
        }),
    },
  };
}
