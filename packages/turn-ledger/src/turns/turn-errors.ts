/** A session has one open prompt at most: end, cancel or abandon the one it has before another begins. */
export class TurnOpenError extends Error {
  override readonly name = 'TurnOpenError';
  readonly code = 'turn_open';
  readonly sessionId: string;
  readonly openTurnId: string;

  constructor(facts: { sessionId: string; openTurnId: string }) {
    super(
      `Session ${facts.sessionId} has the open turn ${facts.openTurnId}; wait for its end, cancel or abandon it first.`,
    );
    this.sessionId = facts.sessionId;
    this.openTurnId = facts.openTurnId;
  }
}

/** A turn of this id is in the ledger already. */
export class TurnExistsError extends Error {
  override readonly name = 'TurnExistsError';
  readonly code = 'turn_exists';
  readonly turnId: string;

  constructor(facts: { turnId: string }) {
    super(`Turn ${facts.turnId} is in the ledger already; choose another id.`);
    this.turnId = facts.turnId;
  }
}
