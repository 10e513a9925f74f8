import { z } from 'zod';
import { ERROR_STATUS, isErrorCode, type ErrorCode } from './codes.ts';
import { JsonObject } from '../identifiers/json-object.ts';

/** The body of every error answer. `details` depends on the code; see {@link ErrorDetails}. */
export const ErrorEnvelope = z.object({
  error: z.object({
    code: z.string().refine(isErrorCode, 'must be a known error code'),
    message: z.string(),
    details: JsonObject.optional(),
  }),
});

/** One thing that was wrong with a request: where in it, and what was expected. */
export interface RequestIssue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/** Where in its start an agent failed. */
export const AgentStartPhase = z.enum([
  'spawn',
  'initialize',
  'authenticate',
  'session',
  'mode',
  'model',
  'config_option',
]);
export type AgentStartPhase = z.infer<typeof AgentStartPhase>;

/**
 * Why an agent did not start, where that can be told (`reason` of the details): the conversation to load is not known to it, it
 * cannot load any, or it wants to be authenticated first, by one of the `authMethodIds` of the details.
 */
export const AgentStartReason = z.enum([
  'session_not_found',
  'load_not_supported',
  'authentication_required',
]);
export type AgentStartReason = z.infer<typeof AgentStartReason>;

/** How an agent process ended: one of the two is set, both are null where it could not be told. */
export const AgentExit = z.object({ code: z.int().nullable(), signal: z.string().nullable() });
export type AgentExit = z.infer<typeof AgentExit>;

/**
 * An error of the control protocol: what a server answers and a client throws. The message says what was wrong and what
 * was expected; it never holds a credential, an environment value or a path of the server.
 */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly code: ErrorCode;
  /** The HTTP status that goes with the code. */
  readonly status: number;
  readonly details: JsonObject | undefined;

  constructor(code: ErrorCode, message: string, details?: JsonObject) {
    super(message);
    this.code = code;
    this.status = ERROR_STATUS[code];
    this.details = details;
  }

  /** The shape on the wire. */
  toEnvelope(): z.input<typeof ErrorEnvelope> {
    const details = this.details === undefined ? {} : { details: this.details };
    return { error: { code: this.code, message: this.message, ...details } };
  }
}

/** The `invalid_request` error for a value that did not fit its schema. `what` names the value, e.g. "request body". */
export function invalidRequest(what: string, issues: readonly RequestIssue[]): ControlError {
  const listed = issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  );
  return new ControlError('invalid_request', `${what} is not valid: ${listed.join('; ')}`, { issues });
}

/** What zod found wrong, in the wire's words. */
export function requestIssues(error: z.ZodError): RequestIssue[] {
  return error.issues.map(({ path, message }) => ({
    path: path.map((step) => (typeof step === 'number' ? step : String(step))),
    message,
  }));
}
