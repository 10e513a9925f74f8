import type { Ledger, TurnRecord } from '@holdfast/turn-ledger';
import { Turn } from './turn.ts';
import type { TurnResults } from './turn-results.ts';

/** The turns of a host, of this and of earlier lives. */
export class Turns {
  readonly #ledger: Ledger;
  readonly #results: TurnResults;

  /** Made by `createHost`. */
  constructor(ledger: Ledger, results: TurnResults) {
    this.#ledger = ledger;
    this.#results = results;
  }

  /** The turn of that id, or null. */
  async get(turnId: string): Promise<Turn | null> {
    const record = await this.#ledger.turns.get(turnId);
    return record === null ? null : new Turn(this.#results, record.turnId, record.sessionId);
  }

  /** The turns of a session as the ledger has them, the oldest first. */
  async list(sessionId: string): Promise<readonly TurnRecord[]> {
    return await this.#ledger.turns.list(sessionId);
  }
}
