/** What a field must be. A question mark: it may be missing. `count` is a whole number from 0, `texts` is never empty. */
type Kind = 'text' | 'number' | 'count' | 'flag' | 'list' | 'texts' | 'object' | 'anything';

/** One check for every field of `T`, required exactly where `T` requires it. */
export type FieldChecks<T> = {
  readonly [Field in keyof T]-?: object extends Pick<T, Field> ? `${Kind}?` : Kind;
};

const CONDITIONS: { readonly [K in Kind]: (value: unknown) => boolean } = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  count: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  flag: (value) => typeof value === 'boolean',
  list: (value) => Array.isArray(value),
  texts: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'),
  object: isObject,
  anything: () => true,
};

/** A value that is not what it has to be; the message names the field. */
export class FieldError extends Error {
  readonly code = 'bad_field';

  constructor(message: string) {
    super(message);
    this.name = 'FieldError';
  }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Takes a value from outside for a `T`, or throws `FieldError`. Fields that `T` does not have are an error: mostly they are typos. */
export function checkFields<T extends object>(what: string, value: unknown, checks: FieldChecks<T>): T {
  if (!isObject(value)) throw new FieldError(`${what} must be a JSON object.`);
  const known = new Map<string, Kind | `${Kind}?`>(Object.entries(checks));
  for (const field of Object.keys(value)) {
    if (!known.has(field)) {
      throw new FieldError(`${what} has no field "${field}"; it has ${[...known.keys()].join(', ')}.`);
    }
  }
  for (const [field, check] of known) {
    if (!satisfies(value[field], check))
      throw new FieldError(`${what}: the field "${field}" must be ${check}.`);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field was checked above
  return value as T;
}

function satisfies(value: unknown, check: Kind | `${Kind}?`): boolean {
  if (value === undefined) return check.endsWith('?') || check === 'anything';
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the question mark was taken off
  return CONDITIONS[check.replace('?', '') as Kind](value);
}
