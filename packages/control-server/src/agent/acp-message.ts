import type { JsonObject } from '@holdfast/control-protocol';

/** The id of a JSON-RPC request. Each direction has numbers of its own. */
export type RpcId = string | number;

/** The error object of a JSON-RPC answer. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** Why a line is no message for us: it is none at all, or one that nobody here waits for. */
export type NoiseKind = 'not_json' | 'not_a_message' | 'unknown_answer' | 'unknown_notification';

/** One message of an agent, as far as its envelope goes; `noise` is a line that is none, `blank` one without anything. */
export type AgentMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'answer'; readonly id: RpcId; readonly answer: RpcAnswer }
  | { readonly kind: 'noise'; readonly noise: NoiseKind }
  | { readonly kind: 'blank' };

/** What a request came to. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcError };

/** Reads one line of an agent's output. */
export function readAgentMessage(line: string): AgentMessage {
  const value = parseJson(line);
  if (value === undefined) {
    return line.trim() === '' ? { kind: 'blank' } : { kind: 'noise', noise: 'not_json' };
  }
  if (!isJsonObject(value)) return NO_MESSAGE;
  const { id, method, params } = value;
  if (typeof method === 'string') {
    return isRpcId(id) ? { kind: 'request', id, method, params } : { kind: 'notification', method, params };
  }
  if (!isRpcId(id)) return NO_MESSAGE;
  if (isJsonObject(value['error'])) {
    return { kind: 'answer', id, answer: { kind: 'error', error: readError(value['error']) } };
  }
  return 'result' in value
    ? { kind: 'answer', id, answer: { kind: 'result', result: value['result'] } }
    : NO_MESSAGE;
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
