import { MAX_FRAME_BYTES, type JsonObject } from '@holdfast/control-protocol';
import {
  readAgentMessage,
  type AskedId,
  type NoiseKind,
  type RpcAnswer,
  type RpcError,
  type RpcId,
} from './acp-message.ts';
import { RPC_ERROR } from './acp-methods.ts';
import { LineTooLongError } from './line-reader.ts';
import { turnTaker } from './take-turns.ts';

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

/** The agent asks on and on, and reads none of the answers. */
class UntakenAnswersError extends Error {
  override readonly name = 'UntakenAnswersError';
  readonly code = 'untaken_answers';
  readonly lines: number;

  constructor(lines: number) {
    super(`The agent asked on while ${String(lines)} answers waited for it to read them.`);
    this.lines = lines;
  }
}

/** Where what an agent says on its own goes, in wire order: nothing more is read until the promise settles. */
export interface AgentInbox {
  readonly onNotification: (method: string, params: unknown) => Promise<void>;
  readonly onRequest: (id: AskedId, method: string, params: unknown) => Promise<void>;
  readonly onWithdrawal: (id: AskedId) => Promise<void>;
  readonly onNoise: (noise: NoiseKind, bytes: number) => void;
}

/** The pipe to an agent. */
export interface AgentWire {
  readonly lines: (maxBytes: number) => AsyncIterable<string>;
  readonly writeLine: (line: string) => void;
  /** What was written that the agent has not taken. */
  readonly untaken: () => { readonly lines: number; readonly bytes: number };
}

interface Pending {
  readonly method: string;
  readonly onAnswer: (answer: RpcAnswer) => Promise<void> | void;
  readonly onGone: () => void;
}

// `1e20` is written out in full: no JSON grows by more than this when it is read and written again.
const LARGEST_GROWTH = 5;
// Who leaves more unread than this gets no more files,
const MAX_UNTAKEN_BYTES = 32 * 1024 * 1024;
// and who asks on after so many answers does not read them at all.
const MAX_UNTAKEN_LINES = 10_000;
const UNTAKEN: RpcError = {
  code: RPC_ERROR.internal,
  message: 'Too many answers wait to be read; read them and ask again.',
};

/**
 * JSON-RPC with an agent. Everything that arrives is handled one line after the other, answers included, so nothing overtakes
 * anything and a handler that waits makes the agent wait. What is sent never waits.
 */
export class AcpConnection {
  readonly #wire: AgentWire;
  readonly #pending = new Map<RpcId, Pending>();
  readonly #takeTurns = turnTaker();
  #nextId = 0;
  #gone = false;

  constructor(wire: AgentWire) {
    this.#wire = wire;
  }

  /**
   * Reads to the end of the agent's output and hands it on; all requests without an answer fail then. Rejects with
   * `LineTooLongError`, `NestedTooDeeplyError` or {@link UntakenAnswersError}, after which nothing more is read.
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

  /**
   * Sends a request; resolves with its result. `onResult` is called in wire order, before that; the next line is read once what it
   * gives has settled. When it throws, so does the request.
   */
  async request(
    method: string,
    params: JsonObject,
    onResult?: (result: unknown) => Promise<unknown> | void,
  ): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      this.send(
        method,
        params,
        async (answer) => {
          if (answer.kind === 'error') {
            reject(new AgentRequestError(method, answer.error));
            return;
          }
          let settled;
          try {
            settled = onResult?.(answer.result);
          } catch (error) {
            reject(error);
            return;
          }
          resolve(answer.result);
          await settled;
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

  respond(id: AskedId, result: JsonObject): void {
    this.#reply(id, { result });
  }

  /** Answers a request, or refuses it where the agent leaves so much unread that the answer would only add to it. */
  answer(id: AskedId, answer: RpcAnswer): void {
    if (answer.kind === 'error') this.#reply(id, { error: answer.error });
    else if (this.#wire.untaken().bytes > MAX_UNTAKEN_BYTES) this.#reply(id, { error: UNTAKEN });
    else this.#reply(id, { result: answer.result });
  }

  refuseMethod(id: AskedId, method: string): void {
    this.#reply(id, {
      error: { code: RPC_ERROR.methodNotFound, message: `Method not found: ${method.slice(0, 200)}` },
    });
  }

  refuseParams(id: AskedId, message: string): void {
    this.#reply(id, { error: { code: RPC_ERROR.invalidParams, message } });
  }

  async #take(line: string, inbox: AgentInbox): Promise<void> {
    const message = readAgentMessage(line);
    switch (message.kind) {
      case 'notification':
        // Whoever takes these makes room for others as well: how long that is, is no silence of the agent.
        assertFits(line, message.params);
        await inbox.onNotification(message.method, message.params);
        return;
      case 'request':
        this.#assertReads();
        assertFits(line, message.params);
        await inbox.onRequest(message.id, message.method, message.params);
        break;
      case 'withdrawal':
        await inbox.onWithdrawal(message.id);
        break;
      case 'answer': {
        const pending = this.#pending.get(message.id);
        this.#pending.delete(message.id);
        if (message.answer.kind === 'result') assertFits(line, message.answer.result);
        if (pending === undefined) inbox.onNoise('unknown_answer', line.length);
        else await pending.onAnswer(message.answer);
        break;
      }
      case 'noise':
        inbox.onNoise(message.noise, line.length);
        break;
      case 'blank':
    }
    await this.#takeTurns();
  }

  #assertReads(): void {
    const { lines } = this.#wire.untaken();
    if (lines >= MAX_UNTAKEN_LINES) throw new UntakenAnswersError(lines);
  }

  #write(message: JsonObject): void {
    this.#wire.writeLine(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  #reply(id: AskedId, outcome: { readonly result: unknown } | { readonly error: RpcError }): void {
    const withoutId = JSON.stringify({ jsonrpc: '2.0', ...outcome }).slice(0, -1);
    this.#wire.writeLine(`${withoutId},"id":${id}}`);
  }
}

/** What a line within the limit holds may be longer when it is written again, and no frame could carry it. */
function assertFits(line: string, params: unknown): void {
  if (line.length * LARGEST_GROWTH <= MAX_FRAME_BYTES) return;
  if (Buffer.byteLength(JSON.stringify(params ?? null)) > MAX_FRAME_BYTES) {
    throw new LineTooLongError(MAX_FRAME_BYTES);
  }
}
