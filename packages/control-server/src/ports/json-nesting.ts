/** JSON is read however deeply it is nested, but not written again: the stack ends some thousand levels down. */
export const MAX_NESTING = 1000;

// Each level takes two characters at least.
const SHORTEST = 2 * MAX_NESTING;

/** Whether the value of a JSON text is nested deeper than {@link MAX_NESTING} levels of arrays and objects. */
export function isNestedTooDeeply(text: string, value: unknown): boolean {
  if (text.length <= SHORTEST) return false;
  let level: readonly object[] = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MAX_NESTING) return true;
    level = level.flatMap(nestedIn);
  }
  return false;
}

function nestedIn(outer: object): readonly object[] {
  const values: readonly unknown[] = Array.isArray(outer) ? outer : Object.values(outer);
  return values.filter(isNested);
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
