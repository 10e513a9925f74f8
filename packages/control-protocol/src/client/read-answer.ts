import { isErrorCode } from '../errors/codes.ts';
import { ControlError, ErrorEnvelope } from '../errors/control-error.ts';

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
