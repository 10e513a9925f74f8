/** There is no control server to launch on, and none could be had. */
export class NoControlServerError extends Error {
  override readonly name = 'NoControlServerError';
  readonly code = 'no_control_server';
  readonly scope: string;

  constructor(facts: { scope: string; why: string; cause?: unknown }) {
    super(`There is no control server for scope ${facts.scope}: ${facts.why}. The next launch tries again.`, {
      cause: facts.cause,
    });
    this.scope = facts.scope;
  }
}

/** The session has a live instance that recovery has not dealt with; a second agent must not start beside it. */
export class SessionAliveError extends Error {
  override readonly name = 'SessionAliveError';
  readonly code = 'session_alive';
  readonly sessionId: string;
  readonly instanceIds: readonly string[];

  constructor(facts: { sessionId: string; instanceIds: readonly string[] }) {
    super(
      `Session ${facts.sessionId} has live instances that were not recovered (${facts.instanceIds.join(', ')}); recover it by restarting the backend.`,
    );
    this.sessionId = facts.sessionId;
    this.instanceIds = facts.instanceIds;
  }
}

/** The runtime has been closed or detached. */
export class RuntimeClosedError extends Error {
  override readonly name = 'RuntimeClosedError';
  readonly code = 'runtime_closed';

  constructor() {
    super('The standalone runtime has been closed; create another one.');
  }
}
