import { describe, expect, it } from '@jest/globals';
import { StderrTail } from '../../src/agent/stderr-tail.ts';

describe('the tail of an agent’s stderr', () => {
  it('keeps lines whole, however they come, and one that has not ended', () => {
    const tail = new StderrTail();
    for (const piece of ['fir', 'st\r\nsec', 'ond\n', 'thi']) tail.add(piece);
    expect(tail.read()).toEqual({ lines: ['first', 'second', 'thi'], truncated: false });
  });

  it('keeps the last 200 lines and no more than 64 KiB', () => {
    const tail = new StderrTail();
    for (let n = 1; n <= 300; n += 1) tail.add(`${String(n)}\n`);
    expect(tail.read().lines).toHaveLength(200);
    expect(tail.read()).toMatchObject({ truncated: true });
    expect(tail.read().lines.at(-1)).toBe('300');
    for (let n = 0; n < 100; n += 1) tail.add(`${'x'.repeat(10_000)}\n`);
    tail.add('y'.repeat(1_000_000));
    tail.add('z'.repeat(4000));
    const bytes = tail.read().lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
  });

  it.each([1, 199, 200, 201, 202, 1000])(
    'keeps the same of %i lines that come at once as one by one',
    (count) => {
      for (const [first, end] of [
        ['', ''],
        ['\n', ''],
        ['', 'unfinished'],
        ['\n\n', '\r'],
      ] as const) {
        const text = first + Array.from({ length: count }, (_, n) => `${String(n)}\r\n`).join('') + end;
        const [atOnce, oneByOne] = [new StderrTail(), new StderrTail()];
        atOnce.add(text);
        for (const piece of text.split(/(?<=\n)/)) oneByOne.add(piece);
        expect(atOnce.read()).toEqual(oneByOne.read());
      }
    },
  );
});
