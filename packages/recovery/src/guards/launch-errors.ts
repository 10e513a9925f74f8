import type { Liveness } from '../liveness/classify-liveness.ts';

/** A launch came while the session's recovery is still under way: try again. */
export class SessionRecoveringError extends Error {
  override readonly name = 'SessionRecoveringError';
  readonly code = 'session_recovering';
  readonly retryable = true;
  readonly sessionId: string;
  readonly retryAfterMs: number;

  constructor(facts: { sessionId: string; retryAfterMs: number }) {
    super(`Session ${facts.sessionId} is being recovered; try again in ${String(facts.retryAfterMs)} ms.`);
    this.sessionId = facts.sessionId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** The session has live instances that could neither be taken over nor stopped; a second agent must not start (SURVIVAL-002.16). */
export class AgentUnstoppableError extends Error {
  override readonly name = 'AgentUnstoppableError';
  readonly code = 'agent_unstoppable';
  readonly retryable = false;
  readonly sessionId: string;
  readonly instanceIds: readonly string[];

  constructor(facts: { sessionId: string; instanceIds: readonly string[] }) {
    super(
      `Session ${facts.sessionId} still has running instances that could be neither taken over nor stopped (${facts.instanceIds.join(', ')}); end them and restart the backend.`,
    );
    this.sessionId = facts.sessionId;
    this.instanceIds = facts.instanceIds;
  }
}

/**
 * An agent of the session that this backend does not drive is alive, or may be; a second one must not start beside it. To be tried
 * again: agents end, and control servers that nobody owns stop theirs after the unowned period.
 */
export class AgentNotGoneError extends Error {
  override readonly name = 'AgentNotGoneError';
  readonly code = 'agent_not_gone';
  readonly retryable = true;
  readonly sessionId: string;
  readonly liveness: Exclude<Liveness, 'gone'>;
  readonly why: string;

  constructor(facts: { sessionId: string; liveness: Exclude<Liveness, 'gone'>; why: string }) {
    const { sessionId, liveness, why } = facts;
    super(
      `Session ${sessionId} ${liveness === 'alive' ? 'has' : 'may have'} an agent that this backend does not drive: ${why}; try again when it has ended, or restart the backend to recover it.`,
    );
    this.sessionId = sessionId;
    this.liveness = liveness;
    this.why = why;
  }
}
