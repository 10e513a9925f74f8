import type { JsonObject } from '@holdfast/control-protocol';
import type { Turn } from '../turns/turn.ts';

/** A prompt that waits for the running one to end. */
export interface PendingPrompt {
  readonly content: readonly JsonObject[];
  readonly runId: string | null;
  readonly signal: AbortSignal;
}

interface Waiting extends PromiseWithResolvers<Turn> {
  readonly prompt: PendingPrompt;
  readonly leave: () => void;
}

/** The prompts that wait for their session's turn to end, the first come first. They live as long as their host. */
export class PendingPrompts {
  readonly #waiting = new Map<string, Waiting[]>();

  /** Waits for its turn. When the prompt's signal aborts before that, it is withdrawn and rejects with the reason. */
  async add(sessionId: string, prompt: PendingPrompt): Promise<Turn> {
    const { signal } = prompt;
    const withdraw = (): void => {
      this.#remove(sessionId, waiting);
      waiting.reject(signal.reason);
    };
    const waiting: Waiting = {
      ...Promise.withResolvers<Turn>(),
      prompt,
      leave: () => {
        signal.removeEventListener('abort', withdraw);
      },
    };
    if (signal.aborted) withdraw();
    else {
      signal.addEventListener('abort', withdraw, { once: true });
      this.#waiting.set(sessionId, [...(this.#waiting.get(sessionId) ?? []), waiting]);
    }
    return await waiting.promise;
  }

  has(sessionId: string): boolean {
    return this.#waiting.has(sessionId);
  }

  /** Takes the first out: whoever does so sends it and settles it. Undefined where none waits. */
  take(sessionId: string): Waiting | undefined {
    const first = this.#waiting.get(sessionId)?.[0];
    if (first !== undefined) this.#remove(sessionId, first);
    return first;
  }

  /** No turn of the session will end any more that they could wait for. */
  rejectAll(sessionId: string, error: Error): void {
    for (let next = this.take(sessionId); next !== undefined; next = this.take(sessionId)) next.reject(error);
  }

  #remove(sessionId: string, gone: Waiting): void {
    gone.leave();
    const left = this.#waiting.get(sessionId)?.filter((waiting) => waiting !== gone) ?? [];
    if (left.length === 0) this.#waiting.delete(sessionId);
    else this.#waiting.set(sessionId, left);
  }
}
