import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { OUTCOME_EFFECTS } from '@holdfast/recovery';
import { EVENT_COUNTERS } from '../src/metrics/counters.ts';

const rows = Object.entries(EVENT_COUNTERS).flatMap(([event, row]) =>
  row === null ? [] : [{ event, ...row }],
);

describe('the table of counters', () => {
  it('counts every event that operators are promised', () => {
    expect(rows.map(({ event }) => event)).toEqual(
      expect.arrayContaining([
        'adoption.attempted',
        'adoption.adopted',
        'adoption.refused',
        'ownership.detached',
        'adoption.unowned_shutdown',
        'instance.stopped',
        'session.retracked',
        'launch.refused',
        'ownership.lost',
        'settings.adjusted',
      ]),
    );
  });

  it('describes a counter in the same words wherever it is used', () => {
    for (const sharing of Map.groupBy(rows, ({ counter }) => counter).values()) {
      expect(new Set(sharing.map(({ description }) => description)).size).toBe(1);
    }
  });

  it('is in the documentation for operators, each name of it', async () => {
    const documented = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const names = [...rows, ...Object.values(OUTCOME_EFFECTS)].map(({ counter }) => counter);
    expect(names.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
  });
});
