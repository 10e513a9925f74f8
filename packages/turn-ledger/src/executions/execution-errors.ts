/** An execution cannot be used for this: it was never recorded, belongs to another session, or has ended. */
export class ExecutionNotUsableError extends Error {
  override readonly name = 'ExecutionNotUsableError';
  readonly code = 'execution_not_usable';
  readonly executionId: string;
  readonly why: 'not_recorded' | 'other_session' | 'ended';

  constructor(facts: { executionId: string; why: 'not_recorded' | 'other_session' | 'ended' }) {
    const said = {
      not_recorded: 'is not in the ledger; insert its row when it is launched',
      other_session: 'belongs to another session; use the execution of this one',
      ended: 'has ended; launch another one',
    };
    super(`Execution ${facts.executionId} ${said[facts.why]}.`);
    this.executionId = facts.executionId;
    this.why = facts.why;
  }
}

/** A session has one live execution at most. */
export class SessionAlreadyLiveError extends Error {
  override readonly name = 'SessionAlreadyLiveError';
  readonly code = 'session_already_live';
  readonly sessionId: string;
  readonly liveExecutionId: string;

  constructor(facts: { sessionId: string; liveExecutionId: string }) {
    super(
      `Session ${facts.sessionId} has the live execution ${facts.liveExecutionId}; end it before another is recorded.`,
    );
    this.sessionId = facts.sessionId;
    this.liveExecutionId = facts.liveExecutionId;
  }
}
