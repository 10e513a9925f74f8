import type { Choices } from './choices.ts';
import type { JsonRpc } from './json-rpc.ts';
import type { SessionStore, Update } from './session-store.ts';

/** An open session. */
export class Session {
  readonly id: string;
  readonly workingDirectory: string;
  /** By which request it was opened. */
  readonly opened: 'new' | 'load' | 'resume';
  readonly choices: Choices;
  readonly #rpc: JsonRpc;
  readonly #store: SessionStore;
  #toolCalls: number;

  constructor(parts: {
    id: string;
    workingDirectory: string;
    opened: Session['opened'];
    choices: Choices;
    toolCalls: number;
    rpc: JsonRpc;
    store: SessionStore;
  }) {
    this.id = parts.id;
    this.workingDirectory = parts.workingDirectory;
    this.opened = parts.opened;
    this.choices = parts.choices;
    this.#toolCalls = parts.toolCalls;
    this.#rpc = parts.rpc;
    this.#store = parts.store;
  }

  nextToolCallId(): string {
    this.#toolCalls += 1;
    return `call-${String(this.#toolCalls)}`;
  }

  remember(update: Update): void {
    this.#store.remember(this.id, update);
  }

  /** Sends an update that a later load replays. */
  async send(update: Update): Promise<void> {
    this.remember(update);
    await this.sendUnremembered(update);
  }

  async sendUnremembered(update: Update): Promise<void> {
    await this.#rpc.notify('session/update', { sessionId: this.id, update });
  }
}
