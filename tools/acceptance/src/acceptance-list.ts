/** One thing the system must do. */
export interface AcceptanceRow {
  readonly id: string;
  readonly text: string;
}

/** The rows under one `##` heading of the list. */
export interface AcceptanceSection {
  readonly title: string;
  readonly rows: readonly AcceptanceRow[];
}

/** The list as it is written, and what is wrong with its writing (one sentence each, with the line). */
export interface AcceptanceList {
  readonly sections: readonly AcceptanceSection[];
  readonly problems: readonly string[];
}

const ID = /^[A-Z]+-\d+(?:\.\d+)?$/;
const SEPARATOR_CELL = /^:?-{3,}:?$/;

/** Reads `docs/acceptance.md`: sections are `##` headings, rows are the lines of their `| id | what must hold |` tables. */
export function parseAcceptanceList(markdown: string): AcceptanceList {
  const sections: { title: string; rows: AcceptanceRow[] }[] = [];
  const problems: string[] = [];
  const lineOfId = new Map<string, number>();
  let lineOfTable = 0;

  for (const [index, line] of markdown.split(/\r?\n/).entries()) {
    const lineNumber = index + 1;
    const heading = /^## (.+)$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ title: heading.trim(), rows: [] });
    if (!line.trimStart().startsWith('|')) {
      lineOfTable = 0;
      continue;
    }
    lineOfTable += 1;

    const complain = (what: string): void => {
      problems.push(`line ${String(lineNumber)}: ${what}`);
    };
    const cells = cellsOf(line);
    if (lineOfTable === 1) {
      if (cells.join('|') !== 'id|what must hold')
        complain('the table header must be "| id | what must hold |".');
      continue;
    }
    if (lineOfTable === 2) {
      if (cells.length !== 2 || !cells.every((cell) => SEPARATOR_CELL.test(cell))) {
        complain('the line under a table header must be "| --- | --- |".');
      }
      continue;
    }
    const [id = '', text = ''] = cells;
    const section = sections.at(-1);
    const firstLine = lineOfId.get(id);
    if (cells.length !== 2 || text === '') {
      complain('a row has two cells, the id and what must hold; write a bar inside a cell as "\\|".');
    } else if (!ID.test(id)) {
      complain(`"${id}" is not an id such as OWNERSHIP-002.10.`);
    } else if (section === undefined) {
      complain(`${id} stands under no "##" heading.`);
    } else if (firstLine === undefined) {
      lineOfId.set(id, lineNumber);
      section.rows.push({ id, text });
    } else {
      complain(`${id} is already the row of line ${String(firstLine)}.`);
    }
  }

  if (lineOfId.size === 0) problems.push('the list has no row.');
  return { sections, problems };
}

/** The cells of a table line, or none when its outer bars are missing. */
function cellsOf(line: string): string[] {
  const inner = /^\|(.*)(?<!\\)\|$/.exec(line.trim())?.[1];
  return inner === undefined ? [] : inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}
