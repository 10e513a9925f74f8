import type { TurnOutcome } from '@holdfast/control-protocol';
import type { PromptIdentity } from './prompt-identity.ts';

/** A prompt has ended and its execution is ready for another. Frozen, and shared with nobody who could change it. */
export interface ReadyEvent extends PromptIdentity {
  readonly kind: 'prompt_ended';
  readonly sessionId: string;
  /** The control server's turn id. */
  readonly controlTurnId: string;
  readonly outcome: TurnOutcome;
}

/** An execution has come up, launched or taken over, and is ready for a prompt. No turn ends with it. Frozen. */
export interface BootReadyEvent {
  readonly kind: 'boot';
  readonly executionId: string;
  readonly sessionId: string;
  /** The highest that was used; 0 for a new execution. */
  readonly promptGeneration: number;
}

/** Is called while the event is published; what it starts and does not finish goes on afterwards. */
export type ReadySubscriber = (event: ReadyEvent | BootReadyEvent) => void | Promise<void>;

/** The in-process bus of ready events. Publishing is synchronous: every subscriber was called when it returns. */
export class ReadyBus {
  /** Replaced, never changed: whoever subscribes while an event is published gets the next one. */
  #subscribers: ReadonlyArray<{ readonly call: ReadySubscriber }> = [];
  readonly #onError: (error: unknown) => void;

  /** `onError` gets what subscribers throw, and what their promises are rejected with. It must not throw. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** In the order of subscription. Gives the function that ends it. */
  subscribe(subscriber: ReadySubscriber): () => void {
    const entry = { call: subscriber };
    this.#subscribers = [...this.#subscribers, entry];
    return () => {
      this.#subscribers = this.#subscribers.filter((other) => other !== entry);
    };
  }

  /** A subscriber that fails does not keep the event from the others. */
  publish(event: ReadyEvent | BootReadyEvent): void {
    for (const { call } of this.#subscribers) {
      try {
        const started = call(event);
        if (started instanceof Promise) started.catch(this.#onError);
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}
