import { describe, expect, it } from '@jest/globals';

import { parseTestResults, reportTests, type TestCounts } from '../src/test-results.ts';

const CLEAN = { code: 0, signal: null };

function counts(passed: number, failed: number, skipped: number): TestCounts {
  return {
    passed,
    failed,
    skipped,
    failures: Array.from({ length: failed }, (_, index) => ({ name: `failure ${String(index)}`, text: [] })),
  };
}

describe('parseTestResults', () => {
  it('counts tests by how they ended', () => {
    const test = (status: string): unknown => ({
      status,
      fullName: `is ${status}`,
      failureMessages:
        status === 'failed' ? ['Error: it \u001B[31mfailed\u001B[39m\n    at /r/a.test.ts:1:2'] : [],
    });
    const results = parseTestResults(
      JSON.stringify({
        testResults: [
          {
            name: '/r/a.test.ts',
            status: 'failed',
            assertionResults: [test('passed'), test('failed'), test('pending')],
          },
          {
            name: '/r/b.test.ts',
            status: 'passed',
            assertionResults: [test('passed'), test('todo'), test('skipped')],
          },
        ],
      }),
      '/r',
    );
    expect(results).toEqual({
      passed: 2,
      failed: 1,
      skipped: 3,
      failures: [{ name: 'a.test.ts > is failed', text: ['Error: it failed', '    at a.test.ts:1:2'] }],
    });
  });

  it('counts a file that failed without a failing test as one failure, with its reason', () => {
    const results = parseTestResults(
      JSON.stringify({
        testResults: [
          {
            name: '/r/a.test.ts',
            status: 'failed',
            message: '  \u001B[1m● Suite\u001B[22m\n\n  Cannot find module\n',
            assertionResults: [],
          },
          {
            name: '/r/b.test.ts',
            status: 'failed',
            message: '',
            assertionResults: [{ status: 'passed', fullName: 'before the clean-up threw' }],
          },
        ],
      }),
      '/r',
    );
    expect(results).toEqual({
      passed: 1,
      failed: 2,
      skipped: 0,
      failures: [
        { name: 'a.test.ts: Cannot find module', text: ['● Suite', '', '  Cannot find module'] },
        { name: 'b.test.ts: the file did not run', text: [] },
      ],
    });
  });

  it.each(['{}', '[]', 'null', '{"testResults": 1}', '{"testRes'])('rejects %s', (json) => {
    expect(() => parseTestResults(json, '/r')).toThrow(/testResults|JSON/);
  });
});

describe('reportTests', () => {
  it('adds the workspaces up in one line', () => {
    const report = reportTests(
      new Map([
        ['a', counts(3, 0, 1)],
        ['b', counts(4, 0, 0)],
      ]),
      CLEAN,
    );
    expect(report).toEqual({ remarks: [], closingLine: '7 passed, 0 failed, 1 skipped', exitCode: 0 });
  });

  it('tells what was said of failures before it names them all', () => {
    const failures = [
      { name: 'a > one', text: ['Error: no', '', '    at a:1:2'] },
      { name: 'b: did not run', text: [] },
    ];
    const report = reportTests(new Map([['a', { ...counts(0, 2, 0), failures }]]), { code: 1, signal: null });
    expect(report.remarks).toEqual([
      'a > one',
      '    Error: no',
      '',
      '        at a:1:2',
      '',
      'Failed:',
      '  a > one',
      '  b: did not run',
    ]);
  });

  it('names them all also where more was said than a reader can want', () => {
    const text = Array.from({ length: 60 }, (_, index) => `line ${String(index)}`);
    const failures = Array.from({ length: 50 }, (_, index) => ({ name: `f${String(index)}`, text }));
    const { remarks } = reportTests(new Map([['a', { ...counts(0, 50, 0), failures }]]), CLEAN);
    expect(remarks.slice(-51)).toEqual(['Failed:', ...failures.map(({ name }) => `  ${name}`)]);
    expect(remarks).toContain('More failed; see above.');
    expect(remarks.length).toBeLessThan(700);
  });

  it('fails and names the failures, and keeps the exit code of the run', () => {
    const byWorkspace = new Map([['a', counts(3, 1, 0)]]);
    expect(reportTests(byWorkspace, { code: 7, signal: null })).toEqual({
      remarks: ['Failed:', '  failure 0'],
      closingLine: '3 passed, 1 failed, 0 skipped',
      exitCode: 7,
    });
    expect(reportTests(byWorkspace, CLEAN).exitCode).toBe(1);
  });

  it('counts a workspace without results as a failure', () => {
    const report = reportTests(new Map([['@holdfast/gone', undefined]]), CLEAN);
    expect(report).toEqual({
      remarks: ['Failed:', '  @holdfast/gone: its tests left no readable results'],
      closingLine: '0 passed, 1 failed, 0 skipped',
      exitCode: 1,
    });
  });

  it('fails when nothing ran', () => {
    expect(reportTests(new Map([['a', counts(0, 0, 2)]]), CLEAN)).toEqual({
      remarks: ['No test ran.'],
      closingLine: '0 passed, 0 failed, 2 skipped',
      exitCode: 1,
    });
  });

  it.each([
    [{ code: 3, signal: null }, 'exit code 3', 3],
    [{ code: null, signal: 'SIGTERM' }, 'signal SIGTERM', 1],
  ])('says so when the run itself failed: %j', (ending, words, exitCode) => {
    const report = reportTests(new Map([['a', counts(1, 0, 0)]]), ending);
    expect(report.remarks).toEqual([`The test run ended with ${words}, though no test failed: see above.`]);
    expect(report.exitCode).toBe(exitCode);
  });
});
