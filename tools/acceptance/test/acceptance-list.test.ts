import { describe, expect, it } from '@jest/globals';

import { parseAcceptanceList } from '../src/acceptance-list.ts';

const TABLE = '| id | what must hold |\n| --- | --- |\n';

describe('parseAcceptanceList', () => {
  it('reads sections and rows in the order of the text', () => {
    const list = parseAcceptanceList(
      `# List\n\nIntro.\n\n## One\n\n${TABLE}| OWN-001.1 | first |\n| OWN-02 | a \\| b |\n\n## Two\n\n${TABLE}| LIVE-001.1 | third |\n`,
    );
    expect(list).toEqual({
      sections: [
        {
          title: 'One',
          rows: [
            { id: 'OWN-001.1', text: 'first' },
            { id: 'OWN-02', text: 'a \\| b' },
          ],
        },
        { title: 'Two', rows: [{ id: 'LIVE-001.1', text: 'third' }] },
      ],
      problems: [],
    });
  });

  it('names both lines of an id that stands twice', () => {
    const { problems } = parseAcceptanceList(`## One\n${TABLE}| OWN-01 | a |\n| OWN-01 | b |\n`);
    expect(problems).toEqual(['line 5: OWN-01 is already the row of line 4.']);
  });

  it.each([
    [
      'an unreadable id',
      `## One\n${TABLE}| OWN01 | a |\n`,
      'line 4: "OWN01" is not an id such as OWNERSHIP-002.10.',
    ],
    ['a third cell', `## One\n${TABLE}| OWN-01 | a | b |\n`, 'line 4: a row has two cells'],
    ['an empty cell', `## One\n${TABLE}| OWN-01 | |\n`, 'line 4: a row has two cells'],
    ['a missing closing bar', `## One\n${TABLE}| OWN-01 | a\n`, 'line 4: a row has two cells'],
    [
      'another header',
      '## One\n| id | text |\n| --- | --- |\n| OWN-01 | a |\n',
      'line 2: the table header must be',
    ],
    [
      'no separator',
      '## One\n| id | what must hold |\n| OWN-01 | a |\n',
      'line 3: the line under a table header',
    ],
    ['a table without a section', `${TABLE}| OWN-01 | a |\n`, 'line 3: OWN-01 stands under no "##" heading.'],
    ['no row', '## One\n', 'the list has no row.'],
  ])('complains of %s', (_what, markdown, complaint) => {
    expect(parseAcceptanceList(markdown).problems[0]).toContain(complaint);
  });
});
