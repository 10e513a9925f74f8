import { z } from 'zod';
import type { ErrorCode } from '../errors/codes.ts';

/**
 * Who may call an operation: anyone (`open`), the holder of the newest credential or the one it directly superseded
 * (`acceptable`), or the holder of the newest only (`driver`).
 */
export type AccessClass = 'open' | 'acceptable' | 'driver';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Request bodies are bounded; a prompt's bound is higher because it may hold images. */
export const MAX_BODY_BYTES = 1024 * 1024;
export const MAX_PROMPT_BODY_BYTES = 32 * 1024 * 1024;
/** Of whoever has no credential, as many connections as he likes, less is taken. */
export const MAX_OPEN_BODY_BYTES = 16 * 1024;

/** All paths of the protocol start here. */
export const BASE_PATH = '/api/v1';

/** The media types of answers; `bytes` is a value of its own, `openmetrics` text, everything else JSON. */
export const ANSWER_MEDIA_TYPES = {
  json: 'application/json',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  bytes: 'application/octet-stream',
} as const;
export type AnswerKind = keyof typeof ANSWER_MEDIA_TYPES;

/** One row of the operation table. Client, routing and the OpenAPI document are derived from it. */
export interface Operation {
  readonly summary: string;
  readonly method: HttpMethod;
  /** Below {@link BASE_PATH}; `{name}` stands for a path parameter, always an id. */
  readonly path: string;
  readonly access: AccessClass;
  /** The path parameters. */
  readonly params: z.ZodObject;
  /** The query parameters, unknown and repeated ones refused. */
  readonly query: z.ZodObject;
  /** The JSON body, unknown fields refused; `z.undefined()` where there is none. */
  readonly request: z.ZodType;
  /** The status of a success. */
  readonly status: 200 | 201 | 202 | 204;
  /** What the answer of a success is: a JSON value, or text or bytes as they are. */
  readonly answers: AnswerKind;
  /** The answer, unknown fields dropped; `z.undefined()` with 204. */
  readonly response: z.ZodType;
  /** The codes it can answer beyond those that every operation can; see {@link COMMON_ERRORS}. */
  readonly errors: readonly ErrorCode[];
  readonly maxBodyBytes: number;
  /** Sent as `Cache-Control: no-store`, because the answer holds secrets. */
  readonly noStore: boolean;
}

/** What any operation can answer, whatever it is. */
export const COMMON_ERRORS = [
  'malformed_json',
  'invalid_request',
  'body_too_large',
  'host_rejected',
  'origin_rejected',
  'route_not_found',
  'internal',
] as const satisfies readonly ErrorCode[];

/** What any operation that needs a credential can answer in addition. */
export const CREDENTIAL_ERRORS = [
  'credential_required',
  'credential_unknown',
  'credential_superseded',
] as const satisfies readonly ErrorCode[];

const NoParams = z.object({});
const NoQuery = z.strictObject({});
const NoBody = z.undefined();

const DEFAULTS = {
  params: NoParams,
  query: NoQuery,
  request: NoBody,
  status: 200,
  answers: 'json',
  response: NoBody,
  errors: [],
  maxBodyBytes: MAX_BODY_BYTES,
  noStore: false,
} as const;

type RowInput = Pick<Operation, 'summary' | 'method' | 'path' | 'access'> & Partial<Operation>;

/** Completes a row with what most rows have: no parameters, no body, status 200, no errors of its own. */
export function operation<const Row extends RowInput>(row: Row): Omit<typeof DEFAULTS, keyof Row> & Row {
  return { ...DEFAULTS, ...row };
}
