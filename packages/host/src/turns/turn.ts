import type { TurnResult, TurnResults } from './turn-results.ts';

/** One prompt and what comes of it. The handle works in every process that owns the ledger, for as long as that is kept. */
export class Turn {
  readonly id: string;
  readonly sessionId: string;
  readonly #results: TurnResults;

  /** Made by a prompt or by `host.turns`. */
  constructor(results: TurnResults, id: string, sessionId: string) {
    this.id = id;
    this.sessionId = sessionId;
    this.#results = results;
  }

  /**
   * How the turn ended: settles in whichever process applies the outcome. Rejects where that will not be this one: with
   * `HostClosedError`, `SessionTakenOverError` or `SharedLockLostError`.
   */
  get outcome(): Promise<TurnResult> {
    return this.#results.wait(this.id);
  }
}
