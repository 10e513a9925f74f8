import { describe, expect, it } from '@jest/globals';

import { failureText } from '../src/failure-text.ts';

describe('failureText', () => {
  it('is the message without colours, and with the frames of the test alone', () => {
    const message = [
      'Error: \u001B[2mexpect(\u001B[22mreceived\u001B[2m)\u001B[22m.toBe(expected)',
      '',
      'Expected: \u001B[32m2\u001B[39m',
      'Received: \u001B[31m1\u001B[39m',
      '    at Object.<anonymous> (/r/packages/p/test/a.test.ts:3:13)',
      '    at Promise.finally.completed (/r/node_modules/jest-circus/build/jestAdapterInit.js:1834:28)',
      '    at new Promise (<anonymous>)',
      '    at processTicksAndRejections (node:internal/process/task_queues:104:5)',
    ].join('\n');
    expect(failureText([message], '/r')).toEqual([
      'Error: expect(received).toBe(expected)',
      '',
      'Expected: 2',
      'Received: 1',
      '    at Object.<anonymous> (packages/p/test/a.test.ts:3:13)',
    ]);
  });

  it('has all messages of a failure, and is empty where there is none', () => {
    expect(failureText(['one', '\ntwo\n\n'], '/r')).toEqual(['one', '', '', 'two']);
    expect(failureText([], '/r')).toEqual([]);
    expect(failureText(['\n  \n'], '/r')).toEqual([]);
  });

  it('keeps the beginning and the end of what is long, and of a long line the beginning', () => {
    const lines = Array.from({ length: 200 }, (_, index) => `line ${String(index)}`);
    const text = failureText([lines.join('\n')], '/r');
    expect(text).toHaveLength(60);
    expect(text[0]).toBe('line 0');
    expect(text[48]).toBe('line 48');
    expect(text[49]).toBe('… 141 lines are left out …');
    expect(text[50]).toBe('line 190');
    expect(text.at(-1)).toBe('line 199');
    const [line = ''] = failureText(['x'.repeat(5000)], '/r');
    expect(line).toBe(`${'x'.repeat(400)}…`);
  });
});
