import { MAX_FRAME_BYTES, type JsonObject } from '@holdfast/control-protocol';
import { readAgentMessage, type RpcAnswer, type RpcError, type RpcId } from './acp-message.ts';

/** The agent answered a request with an error. */
export class AgentRequestError extends Error {
  override readonly name = 'AgentRequestError';
  readonly code = 'agent_request_failed';
  readonly method: string;
  readonly rpcError: RpcError;

  constructor(method: string, rpcError: RpcError) {
    super(`The agent answered ${method} with error ${String(rpcError.code)}.`);
    this.method = method;
    this.rpcError = rpcError;
  }
}

/** The agent's output ended before it answered. */
export class AgentGoneError extends Error {
  override readonly name = 'AgentGoneError';
  readonly code = 'agent_gone';
  readonly method: string;

  constructor(method: string) {
    super(`The agent ended before it answered ${method}.`);
    this.method = method;
  }
}

/** Where what an agent says on its own goes, in wire order: nothing more is read until the promise settles. */
export interface AgentInbox {
  readonly onNotification: (method: string, params: unknown) => Promise<void>;
  readonly onRequest: (id: RpcId, method: string, params: unknown) => Promise<void>;
  readonly onNoise: (bytes: number) => void;
}

/** The pipe to an agent. */
export interface AgentWire {
  readonly lines: (maxBytes: number) => AsyncIterable<string>;
  readonly writeLine: (line: string) => void;
  /** How many bytes were written that the agent has not taken. */
  readonly untakenBytes: () => number;
}

interface Pending {
  readonly method: string;
  readonly onAnswer: (answer: RpcAnswer) => Promise<void> | void;
  readonly onGone: () => void;
}

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const MAX_UNTAKEN_BYTES = 32 * 1024 * 1024;
const UNTAKEN = { code: -32_603, message: 'Too many answers wait to be read; read them and ask again.' };

/**
 * JSON-RPC with an agent. Everything that arrives is handled one line after the other, answers included, so nothing overtakes
 * anything and a handler that waits makes the agent wait. What is sent never waits.
 */
export class AcpConnection {
  readonly #wire: AgentWire;
  readonly #pending = new Map<RpcId, Pending>();
  #nextId = 0;
  #gone = false;

  constructor(wire: AgentWire) {
    this.#wire = wire;
  }

  /**
   * Reads to the end of the agent's output and hands it on; all requests without an answer fail then. Rejects with
   * `LineTooLongError`, after which nothing more is read.
   */
  async read(inbox: AgentInbox): Promise<void> {
    try {
      for await (const line of this.#wire.lines(MAX_FRAME_BYTES)) await this.#take(line, inbox);
    } finally {
      this.#gone = true;
      const pending = [...this.#pending.values()];
      this.#pending.clear();
      for (const { onGone } of pending) onGone();
    }
  }

  /** Sends a request; resolves with its result. `onResult` runs in wire order, before the next line is read. */
  async request(method: string, params: JsonObject, onResult?: (result: unknown) => void): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      this.send(
        method,
        params,
        (answer) => {
          if (answer.kind === 'error') {
            reject(new AgentRequestError(method, answer.error));
            return;
          }
          onResult?.(answer.result);
          resolve(answer.result);
        },
        () => {
          reject(new AgentGoneError(method));
        },
      );
    });
  }

  /** Sends a request whose answer is handled in wire order: nothing more is read until `onAnswer` settles. */
  send(
    method: string,
    params: JsonObject,
    onAnswer: (answer: RpcAnswer) => Promise<void> | void,
    onGone: () => void = () => undefined,
  ): void {
    if (this.#gone) {
      onGone();
      return;
    }
    const id = this.#nextId;
    this.#nextId += 1;
    this.#pending.set(id, { method, onAnswer, onGone });
    this.#write({ id, method, params });
  }

  notify(method: string, params: JsonObject): void {
    this.#write({ method, params });
  }

  respond(id: RpcId, result: JsonObject): void {
    this.#write({ id, result });
  }

  /** Answers a request, or refuses it where the agent leaves so much unread that the answer would only add to it. */
  answer(id: RpcId, answer: RpcAnswer): void {
    if (answer.kind === 'error') this.#write({ id, error: { ...answer.error } });
    else if (this.#wire.untakenBytes() > MAX_UNTAKEN_BYTES) this.#write({ id, error: UNTAKEN });
    else this.#write({ id, result: answer.result });
  }

  refuseMethod(id: RpcId, method: string): void {
    this.#write({
      id,
      error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method.slice(0, 200)}` },
    });
  }

  refuseParams(id: RpcId, message: string): void {
    this.#write({ id, error: { code: INVALID_PARAMS, message } });
  }

  async #take(line: string, inbox: AgentInbox): Promise<void> {
    const message = readAgentMessage(line);
    switch (message.kind) {
      case 'notification':
        await inbox.onNotification(message.method, message.params);
        return;
      case 'request':
        await inbox.onRequest(message.id, message.method, message.params);
        return;
      case 'answer': {
        const pending = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        if (pending === undefined) inbox.onNoise(line.length);
        else await pending.onAnswer(message.answer);
        return;
      }
      case 'noise':
        if (line.trim() !== '') inbox.onNoise(line.length);
    }
  }

  #write(message: JsonObject): void {
    this.#wire.writeLine(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}
