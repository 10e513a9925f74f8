import type { JsonObject } from '@holdfast/control-protocol';
import { MAX_NESTING, isNestedTooDeeply } from '../ports/json-nesting.ts';
import { FROM_AGENT } from './acp-methods.ts';

/** A message was nested too deeply to be handed on. */
class NestedTooDeeplyError extends Error {
  override readonly name = 'NestedTooDeeplyError';
  readonly code = 'nested_too_deeply';

  constructor() {
    super(`The agent sent a message that is nested deeper than ${String(MAX_NESTING)} levels.`);
  }
}

/** The id of an answer. Each direction of JSON-RPC has ids of its own; ours are numbers. */
export type RpcId = string | number;

/** The id of a request of the agent, as JSON and exactly as it came: it may be a number that JavaScript does not have. */
export type AskedId = string;

/** The error object of a JSON-RPC answer. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** Why a line is no message for us: it is none at all, or one that nobody here waits for. */
export type NoiseKind = 'not_json' | 'not_a_message' | 'unknown_answer' | 'unknown_notification';

/** One message of an agent, as far as its envelope goes; `noise` is a line that is none, `blank` one without anything. */
export type AgentMessage =
  | { readonly kind: 'request'; readonly id: AskedId; readonly method: string; readonly params: unknown }
  /** The agent waits no longer for the answer to a request. */
  | { readonly kind: 'withdrawal'; readonly id: AskedId }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'answer'; readonly id: RpcId; readonly answer: RpcAnswer }
  | { readonly kind: 'noise'; readonly noise: NoiseKind }
  | { readonly kind: 'blank' };

/** What a request came to. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcError };

/** Reads one line of an agent's output; throws {@link NestedTooDeeplyError}. */
export function readAgentMessage(line: string): AgentMessage {
  const value = parseJson(line);
  if (value === undefined) {
    return line.trim() === '' ? { kind: 'blank' } : { kind: 'noise', noise: 'not_json' };
  }
  if (isNestedTooDeeply(line, value)) throw new NestedTooDeeplyError();
  if (!isJsonObject(value)) return NO_MESSAGE;
  const { id, method, params } = value;
  if (typeof method === 'string') return readCall(line, { id, method, params });
  if (!isRpcId(id)) return NO_MESSAGE;
  if (isJsonObject(value['error'])) {
    return { kind: 'answer', id, answer: { kind: 'error', error: readError(value['error']) } };
  }
  return 'result' in value
    ? { kind: 'answer', id, answer: { kind: 'result', result: value['result'] } }
    : NO_MESSAGE;
}

// An id of null is one in ACP, but some agents have it in notifications, to which no answer is due.
const ANSWERED_WITHOUT_ID: ReadonlySet<string> = new Set([
  FROM_AGENT.requestPermission,
  FROM_AGENT.readTextFile,
  FROM_AGENT.writeTextFile,
]);

function readCall(
  line: string,
  { id, method, params }: { readonly id: unknown; readonly method: string; readonly params: unknown },
): AgentMessage {
  if (isRpcId(id) || (id === null && ANSWERED_WITHOUT_ID.has(method))) {
    return { kind: 'request', id: exactly(id, line, 'id', (message) => message), method, params };
  }
  if (method === FROM_AGENT.cancelRequest && isJsonObject(params)) {
    const { requestId } = params;
    if (isRpcId(requestId) || requestId === null) {
      return {
        kind: 'withdrawal',
        id: exactly(requestId, line, 'requestId', (message) => message['params']),
      };
    }
  }
  return { kind: 'notification', method, params };
}

/** An id as JSON; where it is a number, as it is written under `name` in a part of the message, whatever JavaScript makes of it. */
function exactly(
  id: RpcId | null,
  line: string,
  name: string,
  partOf: (message: JsonObject) => unknown,
): AskedId {
  if (typeof id !== 'number') return JSON.stringify(id);
  const numbers = new Map<unknown, string>();
  const message: unknown = JSON.parse(line, function (this: unknown, key, value: unknown, context?: Source) {
    if (key === name && context?.source !== undefined) numbers.set(this, context.source);
    return value;
  });
  return (isJsonObject(message) ? numbers.get(partOf(message)) : undefined) ?? JSON.stringify(id);
}

/** What JSON.parse says beside a value that is no object: how it is written. */
interface Source {
  readonly source?: string;
}

const NO_MESSAGE: AgentMessage = { kind: 'noise', noise: 'not_a_message' };

/** Whether a value is a JSON object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRpcId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number';
}

const LONGEST_MESSAGE = 2000;

function readError(error: JsonObject): RpcError {
  const { code, message, data } = error;
  const said = typeof message === 'string' ? message : 'no message';
  const detail = detailOf(data);
  const whole = detail === undefined || said.includes(detail) ? said : `${said}: ${detail}`;
  return { code: typeof code === 'number' ? code : 0, message: whole.slice(0, LONGEST_MESSAGE) };
}

/** Agents that say no more than "Internal error" have the reason in `data`. */
function detailOf(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  if (!isJsonObject(data)) return undefined;
  return [data['details'], data['message']].find((text) => typeof text === 'string');
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
