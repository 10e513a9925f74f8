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

/** The runtime has been closed or detached. */
export class RuntimeClosedError extends Error {
  override readonly name = 'RuntimeClosedError';
  readonly code = 'runtime_closed';

  constructor() {
    super('The standalone runtime has been closed; create another one.');
  }
}
