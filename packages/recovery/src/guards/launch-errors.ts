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
