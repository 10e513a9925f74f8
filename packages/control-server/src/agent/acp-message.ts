import type { JsonObject } from '@holdfast/control-protocol';

/** The id of a JSON-RPC request. Each direction has numbers of its own. */
export type RpcId = string | number;

/** The error object of a JSON-RPC answer. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** One message of an agent, as far as its envelope goes; `noise` is a line that is none. */
export type AgentMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'answer'; readonly id: RpcId; readonly answer: RpcAnswer }
  | { readonly kind: 'noise' };

/** What a request came to. */
export type RpcAnswer =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly error: RpcError };

/** Reads one line of an agent's output. */
export function readAgentMessage(line: string): AgentMessage {
  const value = parseJson(line);
  if (!isJsonObject(value)) return { kind: 'noise' };
  const { id, method, params } = value;
  if (typeof method === 'string') {
    return isRpcId(id) ? { kind: 'request', id, method, params } : { kind: 'notification', method, params };
  }
  if (!isRpcId(id)) return { kind: 'noise' };
  if (isJsonObject(value['error'])) {
    return { kind: 'answer', id, answer: { kind: 'error', error: readError(value['error']) } };
  }
  return 'result' in value
    ? { kind: 'answer', id, answer: { kind: 'result', result: value['result'] } }
    : { kind: 'noise' };
}

/** Whether a value is a JSON object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRpcId(value: unknown): value is RpcId {
  return typeof value === 'string' || typeof value === 'number';
}

const LONGEST_MESSAGE = 2000;

function readError(error: JsonObject): RpcError {
  const { code, message } = error;
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message.slice(0, LONGEST_MESSAGE) : 'no message',
  };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
