/** Reads `docs/acceptance-shown.txt`: the ids that have been shown once, one a line. */
export function parseShownRecord(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Writes the ids in their one order, numbers by value: `OWNERSHIP-001.2` before `OWNERSHIP-001.10`. */
export function formatShownRecord(ids: Iterable<string>): string {
  const order = new Intl.Collator('en', { numeric: true });
  return [...ids]
    .toSorted(order.compare)
    .map((id) => `${id}\n`)
    .join('');
}
