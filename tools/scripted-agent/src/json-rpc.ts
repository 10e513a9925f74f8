import { FieldError, isObject } from './field-checks.ts';
import type { LineWriter } from './line-writer.ts';

/** A request is answered with this error. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/** What came back for a request of ours. */
export type Answer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly code: number };

/** A request of ours that is under way. */
export interface PendingRequest {
  readonly id: number | string;
  readonly answer: Promise<Answer>;
}

/** What this side does about messages of the other side. */
export interface Receiver {
  /**
   * Gives the result of a request, or throws `RpcError` or `FieldError` (-32602). `answered` settles once the response has been
   * written.
   */
  request(method: string, params: unknown, answered: Promise<void>): Promise<unknown>;
  notification(method: string, params: unknown): void;
}

/** Peculiarities that JSON-RPC allows or peers have to live with. */
export interface Manners {
  /** Own requests have texts for ids. */
  readonly stringIds?: boolean | undefined;
  /** Requests of this method are answered twice. */
  readonly twiceOn?: string | undefined;
}

type Id = string | number | null;

/** One side of a JSON-RPC 2.0 conversation over lines. */
export class JsonRpc {
  readonly #output: LineWriter;
  readonly #receiver: Receiver;
  readonly #pending = new Map<Id, (answer: Answer) => void>();
  readonly #manners: Manners;
  #lastId = -1;

  constructor(output: LineWriter, receiver: Receiver, manners: Manners = {}) {
    this.#output = output;
    this.#receiver = receiver;
    this.#manners = manners;
  }

  /** Takes one line from the other side. Requests run side by side; the promise settles when this one was answered. */
  async receive(line: string): Promise<void> {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      await this.#send({ id: null, error: { code: -32700, message: 'The line is not JSON.' } });
      return;
    }
    if (!isObject(message)) {
      await this.#send({ id: null, error: { code: -32600, message: 'A message must be a JSON object.' } });
      return;
    }
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      if (isId(id)) this.#settle(id, message);
    } else if (isId(id)) {
      await this.#answer(id, method, params);
    } else {
      this.#receiver.notification(method, params);
    }
  }

  /** Settles when there is room for more. */
  async notify(method: string, params: unknown): Promise<void> {
    await this.#send({ method, params });
  }

  /** Sends a request. */
  async request(method: string, params: unknown): Promise<PendingRequest> {
    this.#lastId += 1;
    const id = this.#manners.stringIds === true ? `ask-${String(this.#lastId)}` : this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#pending.set(id, resolve);
    await this.#send({ id, method, params });
    return { id, answer: promise };
  }

  async #answer(id: Id, method: string, params: unknown): Promise<void> {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    try {
      const result = await this.#receiver.request(method, params, answered);
      await this.#send({ id, result });
      if (this.#manners.twiceOn === method) await this.#send({ id, result });
    } catch (error) {
      await this.#send({ id, error: { code: codeOf(error), message: messageOf(error) } });
    }
    resolve();
  }

  #settle(id: Id, message: Record<string, unknown>): void {
    const { error, result } = message;
    const settle = this.#pending.get(id);
    this.#pending.delete(id);
    settle?.(isObject(error) ? { kind: 'error', code: Number(error['code']) } : { kind: 'result', result });
  }

  async #send(message: object): Promise<void> {
    await this.#output.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number' || value === null;
}

function codeOf(error: unknown): number {
  if (error instanceof RpcError) return error.code;
  return error instanceof FieldError ? -32602 : -32603;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
