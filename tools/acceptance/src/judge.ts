import type { AcceptanceList } from './acceptance-list.ts';
import { idsInTitle } from './ids-in-title.ts';
import { formatShownRecord, parseShownRecord } from './shown-record.ts';
import type { TestTitle } from './test-titles.ts';

/** What there is to judge: the list, the titles of every test file, and the text of the record of shown rows. */
export interface Evidence {
  readonly list: AcceptanceList;
  /** By the file's path from the root of the checkout. */
  readonly titlesByFile: ReadonlyMap<string, readonly TestTitle[]>;
  readonly record: string;
}

/** The judgement; each problem is one sentence for a person. */
export interface Verdict {
  /** For every row that is shown, in the order of the list: the tests that show it, as `file > suite > title`. */
  readonly testsById: ReadonlyMap<string, readonly string[]>;
  /** What must be mended in the list or in a title; the record cannot be rewritten before. */
  readonly mistakes: readonly string[];
  /** Where the record of shown rows differs from what is shown; rewriting it settles these. */
  readonly differences: readonly string[];
  /** The text the record should have. */
  readonly record: string;
}

/** Decides which rows are shown, and what is wrong. Pure. */
export function judge({ list, titlesByFile, record }: Evidence): Verdict {
  const rows = list.sections.flatMap((section) => section.rows);
  const known = new Set(rows.map((row) => row.id));
  const found = new Map<string, Set<string>>();
  const mistakes = new Set(list.problems.map((problem) => `docs/acceptance.md, ${problem}`));

  for (const [file, titles] of titlesByFile) {
    for (const { path, runs } of titles) {
      for (const [depth, title] of path.entries()) {
        const where = [file, ...path.slice(0, depth + 1)].join(' > ');
        for (const id of idsInTitle(title, known)) {
          if (!known.has(id)) mistakes.add(`"${id}" is no id of docs/acceptance.md; it stands in ${where}`);
          else if (runs) found.set(id, (found.get(id) ?? new Set()).add(where));
        }
      }
    }
  }

  const testsById = new Map(
    rows.flatMap(({ id }) => {
      const tests = found.get(id);
      return tests === undefined ? [] : [[id, [...tests]] as const];
    }),
  );
  const newRecord = formatShownRecord(testsById.keys());
  return {
    testsById,
    mistakes: [...mistakes],
    differences: differencesOf(record, newRecord, known),
    record: newRecord,
  };
}

function differencesOf(record: string, newRecord: string, known: ReadonlySet<string>): string[] {
  const recorded = new Set(parseShownRecord(record));
  const shown = new Set(parseShownRecord(newRecord));
  const differences = [
    ...[...recorded]
      .filter((id) => !shown.has(id))
      .map((id) =>
        known.has(id)
          ? `${id} was shown once and is no longer: bring its test back.`
          : `${id} is recorded as shown and is no row of docs/acceptance.md.`,
      ),
    ...[...shown].filter((id) => !recorded.has(id)).map((id) => `${id} is shown now and not yet recorded.`),
  ];
  if (differences.length === 0 && record !== newRecord) {
    differences.push('the record has its ids in another order, twice, or with other text.');
  }
  return differences;
}
