import { HostOptionError } from './host-errors.ts';

/** What a value must be, in words and as a question about it. */
export interface Accepted<T> {
  readonly words: string;
  readonly is: (value: unknown) => value is T;
}

export const TEXT: Accepted<string> = { words: 'a text', is: (value) => typeof value === 'string' };

/** What an environment can carry, and a ledger store. */
export const NAME: Accepted<string> = {
  words: 'a text, not empty and without NUL',
  is: (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0'),
};

export const POSITION: Accepted<number> = {
  words: 'a whole number from 0',
  is: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
};

export const FUNCTION: Accepted<(...given: never) => unknown> = {
  words: 'a function',
  is: (value): value is (...given: never) => unknown => typeof value === 'function',
};

export const OBJECT: Accepted<Readonly<Record<string, unknown>>> = {
  words: 'an object',
  is: (value): value is Readonly<Record<string, unknown>> =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
};

export const SIGNAL: Accepted<AbortSignal> = {
  words: 'an AbortSignal',
  is: (value) => value instanceof AbortSignal,
};

/** Throws {@link HostOptionError} unless the value is what it must be. Whoever writes JavaScript may give anything. */
export function assertGiven<T>(
  option: string,
  value: unknown,
  { words, is }: Accepted<T>,
): asserts value is T {
  if (!is(value)) throw new HostOptionError(option, value, words);
}

/** As {@link assertGiven}, where it may be left out. */
export function assertIfGiven(option: string, value: unknown, accepted: Accepted<unknown>): void {
  if (value !== undefined) assertGiven(option, value, accepted);
}

/** A name that is none of the known ones is a slip, and would silently mean a default. */
export function assertKnownNames(what: string, given: object, known: object): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    throw new HostOptionError(what, name, `one of ${Object.keys(known).join(', ')}`);
  }
}
