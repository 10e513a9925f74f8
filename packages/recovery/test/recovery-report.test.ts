import { describe, expect, it } from '@jest/globals';
import { RecoveryReport } from '../src/recovery-report.ts';

describe('the report of a recovery', () => {
  it('prints the warnings of a scope below it', () => {
    const scope = { server: 'started', refusal: null, detail: 'first start' } as const;
    const report = new RecoveryReport({
      scopes: [
        { ...scope, scope: 'standalone', warnings: ['the unit takes it along', 'the disk is old'] },
        { ...scope, scope: 'other', warnings: [] },
      ],
      rows: [],
      tookMs: 7.4,
    });
    expect(String(report).split('\n')).toEqual([
      'standalone: started (first start)',
      'standalone: warning: the unit takes it along',
      'standalone: warning: the disk is old',
      'other: started (first start)',
      '0 of 0 re-tracked, 7 ms after first contact',
    ]);
  });
});
