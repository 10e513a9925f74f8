import type { Spread, Summary } from './comparison.ts';

const HEADINGS = ['name', 'unit', 'ours (min - max)', 'bare (min - max)', 'ours/bare (min - max)'];

/** The summaries as a text table. */
export function formatTable(summaries: readonly Summary[]): string {
  const rows = [
    HEADINGS,
    ...summaries.map(({ name, unit, ours, bare, ratio }) => [
      name,
      unit,
      formatSpread(ours, unit === 'ms' ? 1 : 0),
      formatSpread(bare, unit === 'ms' ? 1 : 0),
      formatSpread(ratio, 2),
    ]),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

function formatSpread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} - ${max.toFixed(digits)})`;
}
