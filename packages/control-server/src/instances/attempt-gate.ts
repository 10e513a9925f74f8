import type { AgentListener } from '../agent/agent-listener.ts';

/**
 * What agents of one instance say passes here, under the number of the attempt that started them. Once an attempt has failed, or
 * another one was begun, nothing late from it counts (RUNTIME-002.6).
 */
export class AttemptGate {
  readonly #listener: AgentListener;
  #attempt = 0;

  constructor(listener: AgentListener) {
    this.#listener = listener;
  }

  /** Begins an attempt; its agent speaks through what this gives. */
  open(): AgentListener {
    const attempt = this.close();
    const counts = (): boolean => attempt === this.#attempt;
    const listener = this.#listener;
    return {
      publish: async (event) => {
        if (counts()) await listener.publish(event);
      },
      publishLossy: (event) => {
        if (counts()) listener.publishLossy(event);
      },
      permissionAsked: async (asked, onOpened) => {
        if (counts()) await listener.permissionAsked(asked, onOpened);
      },
      permissionWithdrawn: async (requestId) => {
        if (counts()) await listener.permissionWithdrawn(requestId);
      },
      // Not what the agent says of the session, but what it asks for itself.
      files: listener.files,
    };
  }

  /** Ends the attempt; gives the number of the next. */
  close(): number {
    this.#attempt += 1;
    return this.#attempt;
  }
}
