import type { AcceptanceSection } from './acceptance-list.ts';

/** The matrix as text: each section with its rows, each row with the tests that show it, and a closing total. */
export function formatMatrix(
  sections: readonly AcceptanceSection[],
  testsById: ReadonlyMap<string, readonly string[]>,
): string {
  const rows = sections.flatMap((section) => section.rows);
  const width = Math.max(0, ...rows.map((row) => row.id.length));
  const formatRow = (id: string): string => {
    const tests = testsById.get(id) ?? ['not shown yet'];
    return tests.map((test, index) => `${(index === 0 ? id : '').padEnd(width)}  ${test}\n`).join('');
  };
  const parts = sections
    .filter((section) => section.rows.length > 0)
    .map(({ title, rows: ofSection }) => {
      const shown = ofSection.filter((row) => testsById.has(row.id)).length;
      const heading = `${title} (${String(shown)} of ${String(ofSection.length)})`;
      return `${heading}\n${ofSection.map((row) => formatRow(row.id)).join('')}\n`;
    });
  const tests = new Set([...testsById.values()].flat()).size;
  return `${parts.join('')}${String(testsById.size)} of ${String(rows.length)} rows are shown, by ${String(tests)} test titles.\n`;
}
