import { isErrorCode } from '../errors/codes.ts';
import type { AnswerKind } from '../operations/operation.ts';
import { ControlError, ErrorEnvelope } from '../errors/control-error.ts';

/** The value that the body of a success is, before it is checked; undefined where there is none. */
export function readBody(body: Buffer, answers: AnswerKind): unknown {
  switch (answers) {
    case 'json':
      return body.length === 0 ? undefined : parseJson(body.toString('utf8'));
    case 'openmetrics':
      return body.toString('utf8');
    case 'bytes':
      return body;
  }
}

/** The error that an answer tells of, or undefined when it tells of none. */
export function readError(text: string): ControlError | undefined {
  const parsed = ErrorEnvelope.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { code, message, details } = parsed.data.error;
  return isErrorCode(code) ? new ControlError(code, message, details) : undefined;
}

/** The value that a text is the JSON of, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
