/** Nothing came back: the connection was refused or reset, or the time ran out before the first byte. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code = 'no_answer';
  readonly endpoint: string;
  readonly operation: string;
  /** The system's word for what the connection met, such as ECONNREFUSED; null where it said nothing, as when the time ran out. */
  readonly systemCode: string | null;

  constructor(facts: { endpoint: string; operation: string; why: string; cause?: unknown }) {
    super(`${facts.operation}: no answer from ${facts.endpoint}: ${facts.why}`, { cause: facts.cause });
    this.endpoint = facts.endpoint;
    this.operation = facts.operation;
    this.systemCode = systemCodeOf(facts.cause);
  }
}

function systemCodeOf(cause: unknown): string | null {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return null;
  return typeof cause.code === 'string' ? cause.code : null;
}

/** Something answered, but not in the control protocol, or not to its end within the time and size allowed. */
export class UnreadableAnswerError extends Error {
  override readonly name = 'UnreadableAnswerError';
  readonly code = 'unreadable_answer';
  readonly endpoint: string;
  readonly operation: string;

  constructor(facts: { endpoint: string; operation: string; why: string; cause?: unknown }) {
    super(`${facts.operation}: unreadable answer from ${facts.endpoint}: ${facts.why}`, {
      cause: facts.cause,
    });
    this.endpoint = facts.endpoint;
    this.operation = facts.operation;
  }
}
