/** A control server that was just started could not be taken over. */
export class BootstrapError extends Error {
  override readonly name = 'BootstrapError';
  readonly code = 'bootstrap_failed';
  readonly scope: string;
  readonly endpoint: string;

  constructor(facts: { scope: string; endpoint: string; why: string; cause?: unknown }) {
    super(
      `The new control server of scope ${facts.scope} at ${facts.endpoint} could not be taken over: ${facts.why}. End it and start another.`,
      { cause: facts.cause },
    );
    this.scope = facts.scope;
    this.endpoint = facts.endpoint;
  }
}

/** A control server that was asked to stop still answers, or could not be asked. */
export class ServerNotStoppedError extends Error {
  override readonly name = 'ServerNotStoppedError';
  readonly code = 'server_not_stopped';
  readonly scope: string;
  readonly serverId: string;

  constructor(facts: { scope: string; serverId: string; why: string }) {
    super(
      `Control server ${facts.serverId} (scope ${facts.scope}) has not stopped: ${facts.why}. It stops by itself when nobody owns it for its unowned period.`,
    );
    this.scope = facts.scope;
    this.serverId = facts.serverId;
  }
}
