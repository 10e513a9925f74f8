import type { JsonObject } from '@holdfast/control-protocol';
import { pause, type Clock } from '../ports/clock.ts';
import { tellsOfConversation } from './update-meaning.ts';

const QUIET_MS = 250;
const LIMIT_MS = 10_000;

/**
 * The history that an agent tells again when it loads a conversation: it is no new output. It should come before the answer to the
 * load, but there are agents that go on with it afterwards, so a load is over once nothing of it has come for a while.
 */
export class Replay {
  readonly #clock: Clock;
  #state: 'none' | 'loading' | 'answered' = 'none';
  #updates = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The load is asked for. */
  begin(): void {
    this.#state = 'loading';
  }

  /** It is answered, in wire order: from here on only what tells of a conversation is history. */
  answered(): void {
    if (this.#state === 'loading') this.#state = 'answered';
  }

  /** Resolves when nothing more of it comes, at the latest after ten seconds; at once when there is none. */
  async over(): Promise<void> {
    const limit = this.#clock.now() + LIMIT_MS;
    for (let before = -1; this.#state !== 'none' && before !== this.#updates;) {
      before = this.#updates;
      await pause(this.#clock, QUIET_MS);
      if (this.#clock.now() >= limit) break;
    }
    this.#state = 'none';
  }

  /** Whether an update is history, in wire order. */
  takes(update: JsonObject): boolean {
    if (this.#state === 'none') return false;
    if (this.#state === 'answered' && !tellsOfConversation(update)) return false;
    this.#updates += 1;
    return true;
  }
}
