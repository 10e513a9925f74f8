import { requestIssues } from '../errors/control-error.ts';
import { BASE_PATH, type Operation } from '../operations/operation.ts';
import { fillPath } from '../operations/path.ts';
import { OPERATIONS, type OperationName, type ResponseOf } from '../operations/table.ts';
import type { z } from 'zod';
import { UnreadableAnswerError } from './client-errors.ts';
import { EventStream } from './event-stream.ts';
import { exchange } from './exchange.ts';
import { readBody, readError } from './read-answer.ts';

/** Whom to call, as whom, and how long to wait. */
export interface ControlClientOptions {
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  /** Left out for the open operations. */
  readonly credential?: string;
  /** The limit of one call that brings no limit of its own. */
  readonly timeoutMs: number;
}

/** Limits of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

type FieldsOf<Schema extends z.ZodType> =
  z.input<Schema> extends Record<string, never> | undefined ? object : z.input<Schema>;

/** What an operation is called with: its path parameters, its query and the fields of its body, in one object. */
export type InputOf<Name extends OperationName> = FieldsOf<(typeof OPERATIONS)[Name]['params']> &
  FieldsOf<(typeof OPERATIONS)[Name]['query']> &
  FieldsOf<(typeof OPERATIONS)[Name]['request']>;

// An unauthenticated peer may be anybody, so little is read from it.
const MAX_OPEN_ANSWER_BYTES = 64 * 1024;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * The one client of a control server, derived from the operation table. Answers are checked with the schema the server
 * uses. Calls reject with `ControlError` (what the server said), `NoAnswerError` or `UnreadableAnswerError`.
 */
export class ControlClient {
  readonly endpoint: string;
  readonly #credential: string | undefined;
  readonly #timeoutMs: number;

  constructor(options: ControlClientOptions) {
    this.endpoint = new URL(options.endpoint).origin;
    this.#credential = options.credential;
    this.#timeoutMs = options.timeoutMs;
  }

  /** The `host:port` that this client dials: the audience of an ownership proof. */
  get audience(): string {
    return new URL(this.endpoint).host;
  }

  /** The same server, called with another credential. */
  withCredential(credential: string): ControlClient {
    return new ControlClient({ endpoint: this.endpoint, timeoutMs: this.#timeoutMs, credential });
  }

  /** Calls one operation of the table. */
  async call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    options: CallOptions = {},
  ): Promise<ResponseOf<Name>> {
    const operation: Operation = OPERATIONS[name];
    const { params, query, body } = splitInput(operation, input);
    const answer = await exchange({
      operation: name,
      endpoint: this.endpoint,
      method: operation.method,
      path: BASE_PATH + fillPath(operation.path, params) + query,
      credential: operation.access === 'open' ? undefined : this.#credential,
      body,
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
      maxAnswerBytes: operation.access === 'open' ? MAX_OPEN_ANSWER_BYTES : MAX_ANSWER_BYTES,
      signal: options.signal,
    });
    const unreadable = (why: string): UnreadableAnswerError =>
      new UnreadableAnswerError({ endpoint: this.endpoint, operation: name, why });
    if (answer.status !== operation.status) {
      throw (
        readError(answer.body.toString('utf8')) ?? unreadable(`unexpected status ${String(answer.status)}`)
      );
    }
    const parsed = operation.response.safeParse(readBody(answer.body, operation.answers));
    if (!parsed.success) {
      const issues = requestIssues(parsed.error).map(({ path, message }) => `${path.join('.')}: ${message}`);
      throw unreadable(issues.join('; '));
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed by the schema of this very row
    return parsed.data as ResponseOf<Name>;
  }

  /**
   * Opens the event stream of an instance after the last sequence number that is durably stored, which it acknowledges
   * (BEYOND-02). Resolves when the server says that the instance is attached.
   */
  async openEvents(
    instanceId: string,
    options: { readonly after: number; readonly signal?: AbortSignal },
  ): Promise<EventStream> {
    return await EventStream.open({
      endpoint: this.endpoint,
      credential: this.#credential,
      instanceId,
      after: options.after,
      timeoutMs: this.#timeoutMs,
      signal: options.signal,
    });
  }
}

function splitInput(
  operation: Operation,
  input: unknown,
): { params: Record<string, string>; query: string; body: string | undefined } {
  const fields = new Map(typeof input === 'object' && input !== null ? Object.entries(input) : []);
  const params: Record<string, string> = {};
  for (const name of Object.keys(operation.params.shape)) {
    params[name] = String(fields.get(name));
    fields.delete(name);
  }
  const query = new URLSearchParams();
  for (const name of Object.keys(operation.query.shape)) {
    if (fields.get(name) !== undefined) query.set(name, String(fields.get(name)));
    fields.delete(name);
  }
  const hasBody = operation.request.def.type !== 'undefined';
  return {
    params,
    query: query.size === 0 ? '' : `?${query.toString()}`,
    body: hasBody ? JSON.stringify(Object.fromEntries(fields)) : undefined,
  };
}
