import type { TurnOutcome } from '@holdfast/control-protocol';
import type { TurnRecord } from '@holdfast/turn-ledger';

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
  readonly #lost = new Map<string, Error>();
  #closed: Error | undefined;

  /** `stored` reads a turn's result from the ledger: undefined while the turn is open. */
  constructor(stored: (turnId: string) => Promise<TurnResult | undefined>) {
    this.#stored = stored;
  }

  /** The result of a turn, now or when it comes; rejects with what {@link close} or {@link lose} was given, if that is first. */
  async wait(turnId: string): Promise<TurnResult> {
    if (this.#closed !== undefined) throw this.#closed;
    const coming = Promise.withResolvers<TurnResult>();
    const waiters = this.#waiters.get(turnId) ?? new Set();
    this.#waiters.set(turnId, waiters.add(coming));
    // Only after joining the waiters is the ledger read, so an end in between is not missed.
    this.#stored(turnId).then((result) => {
      const lost = this.#lost.get(turnId);
      if (result !== undefined) this.settle(turnId, result);
      else if (lost !== undefined) this.lose(turnId, lost);
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

  /** This host will not hear how the turn ends. */
  lose(turnId: string, error: Error): void {
    this.#lost.set(turnId, error);
    for (const waiter of this.#take(turnId)) waiter.reject(error);
  }

  /** Nothing will be settled by this host any more, for the first reason that is given. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const waiters of this.#waiters.values()) {
      for (const waiter of waiters) waiter.reject(this.#closed);
    }
    this.#waiters.clear();
  }

  #take(turnId: string): Iterable<Waiter> {
    const waiters = this.#waiters.get(turnId) ?? [];
    this.#waiters.delete(turnId);
    return waiters;
  }
}
