import { describe, expect, it } from '@jest/globals';

import { parseAcceptanceList } from '../src/acceptance-list.ts';
import { formatMatrix } from '../src/format-matrix.ts';
import { idsInTitle } from '../src/ids-in-title.ts';
import { judge, type Verdict } from '../src/judge.ts';
import { formatShownRecord } from '../src/shown-record.ts';
import { parseTestTitles } from '../src/test-titles.ts';

const list = parseAcceptanceList(`
## Owners

| id | what must hold |
| --- | --- |
| OWN-001.1 | a |
| OWN-001.2 | b |
| OWN-001.10 | c |

## Agents

| id | what must hold |
| --- | --- |
| LIVE-01 | d |
`);

function verdict(source: string, record = ''): Verdict {
  return judge({
    list,
    titlesByFile: new Map([['a.test.ts', parseTestTitles(source, 'a.test.ts')]]),
    record,
  });
}

describe('idsInTitle', () => {
  const known = new Set(['OWN-001.1', 'LIVE-01']);
  it.each([
    ['one [OWN-001.1]', ['OWN-001.1']],
    ['two [OWN-001.1, LIVE-01] and more', ['OWN-001.1', 'LIVE-01']],
    ['apart [OWN-001.1] [LIVE-01]', ['OWN-001.1', 'LIVE-01']],
    ['ordinary brackets [1, 2] [] [live one] [a-b]', []],
    ['outside OWN-001.1', []],
    ['misspelt [OWNN-001.1]', ['OWNN-001.1']],
    ['lower case [own-001.1]', ['own-001.1']],
    ['no comma [OWN-001.1 LIVE-01]', ['OWN-001.1 LIVE-01']],
  ])('%s', (title, ids) => {
    expect(idsInTitle(title, known)).toEqual(ids);
  });
});

describe('judge', () => {
  it('names the tests of a shown row, and a suite once for all its tests', () => {
    const { testsById, mistakes } = verdict(
      `describe('s [LIVE-01]', () => { it('t [OWN-001.1]', f); it('u [OWN-001.1]', f); });`,
    );
    expect(mistakes).toEqual([]);
    expect([...testsById]).toEqual([
      ['OWN-001.1', ['a.test.ts > s [LIVE-01] > t [OWN-001.1]', 'a.test.ts > s [LIVE-01] > u [OWN-001.1]']],
      ['LIVE-01', ['a.test.ts > s [LIVE-01]']],
    ]);
  });

  it('does not take a skipped test or a suite without tests for shown', () => {
    const { testsById } = verdict(`it.skip('t [OWN-001.1]', f); describe('s [LIVE-01]', () => {});`);
    expect([...testsById]).toEqual([]);
  });

  it('rejects an unknown id, even of a skipped test, and says where it stands', () => {
    expect(verdict(`describe('s', () => { it.skip('t [OWN-009.9]', f); });`).mistakes).toEqual([
      '"OWN-009.9" is no id of docs/acceptance.md; it stands in a.test.ts > s > t [OWN-009.9]',
    ]);
  });

  it('passes on what is wrong with the list', () => {
    const broken = parseAcceptanceList('## Owners\n');
    expect(judge({ list: broken, titlesByFile: new Map(), record: '' }).mistakes).toEqual([
      'docs/acceptance.md, the list has no row.',
    ]);
  });

  it('compares what is shown with the record', () => {
    expect(verdict(`it('t [OWN-001.1]', f);`, 'OWN-001.2\nGONE-01\n').differences).toEqual([
      'OWN-001.2 was shown once and is no longer: bring its test back.',
      'GONE-01 is recorded as shown and is no row of docs/acceptance.md.',
      'OWN-001.1 is shown now and not yet recorded.',
    ]);
  });

  it('asks for the one order of the record, and is silent when it is kept', () => {
    const source = `it('t [OWN-001.10, OWN-001.2, LIVE-01]', f);`;
    const { record } = verdict(source);
    expect(record).toBe('LIVE-01\nOWN-001.2\nOWN-001.10\n');
    expect(verdict(source, record).differences).toEqual([]);
    expect(verdict(source, 'OWN-001.10\nOWN-001.2\nLIVE-01\n').differences).toEqual([
      'the record has its ids in another order, twice, or with other text.',
    ]);
  });
});

describe('formatShownRecord', () => {
  it('is empty when nothing is shown', () => {
    expect(formatShownRecord([])).toBe('');
  });
});

describe('formatMatrix', () => {
  it('lists every row under its section and closes with the total', () => {
    const { testsById } = verdict(`it('t [OWN-001.1]', f); it('u [OWN-001.1, OWN-001.10]', f);`);
    expect(formatMatrix(list.sections, testsById)).toBe(
      [
        'Owners (2 of 3)',
        'OWN-001.1   a.test.ts > t [OWN-001.1]',
        '            a.test.ts > u [OWN-001.1, OWN-001.10]',
        'OWN-001.2   not shown yet',
        'OWN-001.10  a.test.ts > u [OWN-001.1, OWN-001.10]',
        '',
        'Agents (0 of 1)',
        'LIVE-01     not shown yet',
        '',
        '2 of 4 rows are shown, by 2 test titles.',
        '',
      ].join('\n'),
    );
  });
});
