import type { TurnRecord } from '@holdfast/turn-ledger';
import { TEXT, assertGiven } from '../check-given.ts';
import type { HostServices } from '../sessions/host-services.ts';
import { Turn } from './turn.ts';

/** The turns of a host, of this and of earlier lives. */
export class Turns {
  readonly #services: Pick<HostServices, 'ledger' | 'results' | 'closed'>;

  /** Made by `createHost`. */
  constructor(services: Pick<HostServices, 'ledger' | 'results' | 'closed'>) {
    this.#services = services;
  }

  /** The turn of that id, or null. */
  async get(turnId: string): Promise<Turn | null> {
    const { ledger, results, closed } = this.#services;
    closed.throwIfAborted();
    assertGiven('turnId', turnId, TEXT);
    const record = await ledger.turns.get(turnId);
    return record === null ? null : new Turn(results, record.turnId, record.sessionId);
  }

  /** The turns of a session as the ledger has them, the oldest first. */
  async list(sessionId: string): Promise<readonly TurnRecord[]> {
    const { ledger, closed } = this.#services;
    closed.throwIfAborted();
    assertGiven('sessionId', sessionId, TEXT);
    return await ledger.turns.list(sessionId);
  }
}
