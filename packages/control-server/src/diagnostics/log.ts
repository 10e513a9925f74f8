import { pino } from 'pino';
import { systemCode } from '../ports/system-error.ts';

/** Facts of a log line: plain values only. Never a credential, a nonce, an environment value or an agent's words. */
export type LogFacts = Readonly<
  Record<string, string | number | boolean | null | readonly (string | number)[]>
>;

/** Where the server says what happens. No method throws. */
export interface Log {
  readonly info: (facts: LogFacts, message: string) => void;
  readonly warn: (facts: LogFacts, message: string) => void;
  readonly error: (facts: LogFacts, message: string) => void;
}

/** A log of JSON lines into a sink. */
export function createLog(sink: { readonly write: (line: string) => void }): Log {
  // The bare pino(sink) would take the sink for options and write to stdout.
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
  return {
    info: (facts, message) => {
      logger.info(facts, message);
    },
    warn: (facts, message) => {
      logger.warn(facts, message);
    },
    error: (facts, message) => {
      logger.error(facts, message);
    },
  };
}

/** What of an error may be logged: its kind and where in the code it came from. Its message may hold anything. */
export function errorFacts(error: unknown): { readonly error: string; readonly stack: string } {
  if (!(error instanceof Error)) return { error: typeof error, stack: '' };
  const code = systemCode(error);
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return {
    error: code === undefined ? error.name : `${error.name} ${code}`,
    stack: frames.slice(0, 12).join('\n'),
  };
}
