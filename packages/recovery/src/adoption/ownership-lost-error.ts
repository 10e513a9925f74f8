/** The reason of an `OwnedControlServer.lost` signal: another backend drives the server now (OWNERSHIP-002.3). */
export class OwnershipLostError extends Error {
  override readonly name = 'OwnershipLostError';
  readonly code = 'ownership_lost';
  readonly scope: string;
  readonly serverId: string;
  /** What the server said. */
  readonly answer: 'credential_superseded' | 'credential_unknown';

  constructor(facts: {
    scope: string;
    serverId: string;
    answer: 'credential_superseded' | 'credential_unknown';
  }) {
    super(
      `Control server ${facts.serverId} (scope ${facts.scope}) is driven by another backend now (${facts.answer}); drop what it ran.`,
    );
    this.scope = facts.scope;
    this.serverId = facts.serverId;
    this.answer = facts.answer;
  }
}
