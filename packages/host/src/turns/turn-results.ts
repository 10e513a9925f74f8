import type { TurnOutcome } from '@holdfast/control-protocol';
import type { TurnRecord } from '@holdfast/turn-ledger';
import { HostClosedError } from '../host-errors.ts';

/** How a turn ended, as the ledger has it. `abandoned`: its agent was lost before it ended. */
export type TurnResult = TurnOutcome | { readonly kind: 'abandoned'; readonly stopReason: 'agent_lost' };

/** The result of a turn whose agent was lost. */
const ABANDONED: TurnResult = { kind: 'abandoned', stopReason: 'agent_lost' };

/** The result that a turn's row holds; undefined while it is open. */
export function resultOf(turn: TurnRecord): TurnResult | undefined {
  if (turn.state === 'dispatching' || turn.state === 'running') return undefined;
  if (turn.state === 'abandoned') return ABANDONED;
  if (turn.outcome !== null) return turn.outcome;
  const error = turn.dispatchError ?? { code: 'unknown', message: 'the turn failed' };
  return { kind: 'failed', stopReason: 'dispatch_failed', error };
}

interface Waiter {
  readonly resolve: (result: TurnResult) => void;
  readonly reject: (error: Error) => void;
}

/** Those who wait for turns to end, by turn id. */
export class TurnResults {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #stored: (turnId: string) => Promise<TurnResult | undefined>;
  #closed = false;

  /** `stored` reads a turn's result from the ledger: undefined while the turn is open. */
  constructor(stored: (turnId: string) => Promise<TurnResult | undefined>) {
    this.#stored = stored;
  }

  /** The result of a turn, now or when it comes; rejects with {@link HostClosedError} when the host closes first. */
  async wait(turnId: string): Promise<TurnResult> {
    if (this.#closed) throw new HostClosedError();
    const coming = Promise.withResolvers<TurnResult>();
    const waiters = this.#waiters.get(turnId) ?? new Set();
    this.#waiters.set(turnId, waiters.add(coming));
    // Only after joining the waiters is the ledger read, so an end in between is not missed.
    this.#stored(turnId).then((result) => {
      if (result !== undefined) this.settle(turnId, result);
    }, coming.reject);
    return await coming.promise;
  }

  /** A turn has ended, durably. */
  settle(turnId: string, result: TurnResult): void {
    for (const waiter of this.#take(turnId)) waiter.resolve(result);
  }

  /** The turn's agent is lost; the ledger has it as abandoned. */
  settleAbandoned(turnId: string): void {
    this.settle(turnId, ABANDONED);
  }

  /** Nothing will be settled by this host any more. */
  close(): void {
    this.#closed = true;
    for (const waiters of this.#waiters.values()) {
      for (const waiter of waiters) waiter.reject(new HostClosedError());
    }
    this.#waiters.clear();
  }

  #take(turnId: string): Iterable<Waiter> {
    const waiters = this.#waiters.get(turnId) ?? [];
    this.#waiters.delete(turnId);
    return waiters;
  }
}
