import { stripVTControlCharacters } from 'node:util';

// Enough of a message, its difference and where it came from; a log is read from its end, and others failed as well.
const MOST_LINES = 60;
const LAST_LINES = 10;
const LONGEST_LINE = 400;

// Frames that say nothing about the test: those of the runner and of Node itself.
const FOREIGN_FRAME = /^\s*at .*(?:[/(]node_modules\/|node:internal\/|\(<anonymous>\)$)/;

/**
 * What jest says of one failure, in at most 60 lines: without colours, blank lines at its ends, and the frames of jest and Node;
 * of a longer one the middle is left out. Empty where it says nothing.
 *
 * @param root the folder from which files are named.
 */
export function failureText(messages: readonly string[], root: string): readonly string[] {
  const lines = stripVTControlCharacters(messages.join('\n\n'))
    .replaceAll(`${root}/`, '')
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => !FOREIGN_FRAME.test(line))
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line));
  if (lines.length <= MOST_LINES) return lines.every((line) => line === '') ? [] : lines;
  const first = MOST_LINES - LAST_LINES - 1;
  const leftOut = lines.length - first - LAST_LINES;
  return [...lines.slice(0, first), `… ${String(leftOut)} lines are left out …`, ...lines.slice(-LAST_LINES)];
}
