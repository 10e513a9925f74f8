/** No session of this id is in the ledger. */
export class UnknownSessionError extends Error {
  override readonly name = 'UnknownSessionError';
  readonly code = 'unknown_session';
  readonly sessionId: string;

  constructor(facts: { sessionId: string }) {
    super(`Session ${facts.sessionId} is not in the ledger; create it first.`);
    this.sessionId = facts.sessionId;
  }
}

/** A session of this id is in the ledger already. */
export class SessionExistsError extends Error {
  override readonly name = 'SessionExistsError';
  readonly code = 'session_exists';
  readonly sessionId: string;

  constructor(facts: { sessionId: string }) {
    super(`Session ${facts.sessionId} is in the ledger already; get it, or choose another id.`);
    this.sessionId = facts.sessionId;
  }
}
