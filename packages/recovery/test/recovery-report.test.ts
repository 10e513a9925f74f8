import { describe, expect, it } from '@jest/globals';
import { RecoveryReport } from '../src/recovery-report.ts';
import { row } from './fixtures/rows.ts';

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

  it('prints one line a row: its outcome, where it was, its liveness with the reason, and what becomes of it', () => {
    const [back, gone, kept] = [row('back'), row('gone'), row('kept')];
    const report = new RecoveryReport({
      scopes: [],
      rows: [
        { row: back, outcome: { kind: 'retracked' } },
        { row: gone, outcome: { kind: 'no_instance' } },
        { row: kept, outcome: { kind: 'adoption_refused', reason: 'credential_unavailable' } },
      ],
      tookMs: 12,
    }).withLiveness(
      new Map([
        [back, { liveness: 'alive', situation: 'adopted', why: 'its instance is on its control server' }],
        [gone, { liveness: 'gone', situation: 'no_server', why: 'its agent, process 7, has ended' }],
        [kept, { liveness: 'unknown', situation: 'not_adopted', why: 'another server answers' }],
      ]),
    );
    expect(String(report).split('\n')).toEqual([
      'session back: re-tracked [execution execution-back, instance instance-back on standalone]',
      'session gone: no live instance [execution execution-gone, instance instance-gone on standalone]; gone: its agent, process 7, has ended; row repaired',
      'session kept: not recovered: adoption refused (credential_unavailable) [execution execution-kept, instance instance-kept on standalone]; unknown: another server answers; row kept, launches are refused while its agent may live',
      '1 of 3 re-tracked (1 no_instance, 1 adoption_refused), 12 ms after first contact',
    ]);
    expect(report.counts).toEqual({ retracked: 1, no_instance: 1, adoption_refused: 1 });
  });
});
