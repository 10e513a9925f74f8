const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const PATTERN = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Parses a duration such as `100ms`, `2s`, `10m`, `1h` or `1h30m` into milliseconds. `0` alone is zero; a number without
 * a unit otherwise is not a duration. Returns undefined for everything else.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const match = PATTERN.exec(text);
  if (match === null || text === '') return undefined;
  const [, hours = '0', minutes = '0', seconds = '0', millis = '0'] = match;
  const total =
    Number(hours) * UNIT_MS.h + Number(minutes) * UNIT_MS.m + Number(seconds) * UNIT_MS.s + Number(millis);
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Writes whole milliseconds the way {@link parseDuration} reads them, e.g. 5400000 as `1h30m`. */
export function formatDuration(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const count = Math.floor(rest / UNIT_MS[unit]);
    rest -= count * UNIT_MS[unit];
    if (count > 0) text += `${String(count)}${unit}`;
  }
  return text === '' ? '0s' : text;
}
