/** JSON is read however deeply it is nested, but not written again: the stack ends some thousand levels down. */
export const MAX_NESTING = 1000;

// Each level takes two characters at least.
const SHORTEST = 2 * MAX_NESTING;

/** Whether the value of a JSON text is nested deeper than {@link MAX_NESTING} levels of arrays and objects. */
export function isNestedTooDeeply(text: string, value: unknown): boolean {
  if (text.length <= SHORTEST) return false;
  let level = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MAX_NESTING) return true;
    const next: object[] = [];
    for (const outer of level) {
      const values: readonly unknown[] = Array.isArray(outer) ? outer : Object.values(outer);
      for (const inner of values) if (isNested(inner)) next.push(inner);
    }
    level = next;
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
