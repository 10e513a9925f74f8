import type { JsonObject, SessionChoice, StartedAgent } from '@holdfast/control-protocol';
import type { AcpConnection } from './acp-connection.ts';
import type { AgentListener } from './agent-listener.ts';
import { choiceRequest, confirmChoice, noticeUpdate, type SessionState } from './session-choices.ts';

/** The open provider session of an agent: what was chosen for it, as far as the agent has confirmed it. */
export class AgentSession {
  readonly id: string;
  readonly #connection: AcpConnection;
  readonly #listener: Pick<AgentListener, 'publish'>;
  #state: SessionState;

  constructor(
    connection: AcpConnection,
    listener: Pick<AgentListener, 'publish'>,
    opened: StartedAgent['session'],
  ) {
    this.id = opened.providerSessionId;
    this.#connection = connection;
    this.#listener = listener;
    this.#state = opened;
  }

  /**
   * Makes a choice; resolves when the agent has confirmed it and what that means was handed to the journal, in wire order. It
   * does not wait for room there: with a full journal the agent is not read on, and whoever made the choice must not hang.
   */
  async choose(choice: SessionChoice): Promise<void> {
    const { method, params } = choiceRequest(this.#state, choice);
    await this.#connection.request(method, { sessionId: this.id, ...params }, (result) => {
      const { state, events } = confirmChoice(this.#state, choice, result);
      this.#state = state;
      return Promise.all(events.map((event) => this.#listener.publish(event)));
    });
  }

  /** An update of the agent's own; resolves when what it means beyond itself is in the journal. */
  async notice(update: JsonObject): Promise<void> {
    const { state, events } = noticeUpdate(this.#state, update);
    this.#state = state;
    for (const event of events) await this.#listener.publish(event);
  }
}
