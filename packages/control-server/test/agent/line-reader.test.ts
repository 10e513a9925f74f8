import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readLines } from '../../src/agent/line-reader.ts';

const WATCH = { onWaiting: () => undefined, onChunk: () => undefined };

async function linesOf(chunks: readonly Buffer[], maxBytes = 1000): Promise<string[]> {
  const lines: string[] = [];
  const stream = Readable.from(chunks, { objectMode: true });
  for await (const line of readLines(stream, maxBytes, WATCH)) lines.push(line);
  return lines;
}

describe('the lines of an agent', () => {
  it('come whole, however they are cut and ended', async () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !/[\r\n]/.test(text));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 9 }),
        async (lines, end, size) => {
          const bytes = Buffer.from(lines.map((one) => one + end).join(''));
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
            bytes.subarray(index * size, (index + 1) * size),
          );
          expect(await linesOf(chunks)).toEqual(lines.map((one) => Buffer.from(one).toString('utf8')));
        },
      ),
    );
  });

  it('may lack the last end', async () => {
    expect(await linesOf([Buffer.from('a\nb')])).toEqual(['a', 'b']);
  });

  it('may be as long as allowed, and not longer', async () => {
    expect(await linesOf([Buffer.from('12345\n')], 5)).toEqual(['12345']);
    await expect(linesOf([Buffer.from('123'), Buffer.from('456')], 5)).rejects.toMatchObject({
      code: 'line_too_long',
    });
  });

  it('come whole when they are cut between any two bytes', async () => {
    const line = '{"text":"a é € 😀 \\u2028"}';
    const bytes = Buffer.from(`${line}\r\n\n${line}`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(await linesOf([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([line, '', line]);
    }
  });

  it('that have no end are given up at the limit, with little more than that read', async () => {
    const piece = Buffer.alloc(64 * 1024, 0x61);
    let produced = 0;
    const stream = new Readable({
      highWaterMark: piece.length,
      read() {
        produced += piece.length;
        this.push(piece);
      },
    });
    await expect(readLines(stream, 1024 * 1024, WATCH).next()).rejects.toMatchObject({
      code: 'line_too_long',
    });
    expect(produced).toBeLessThan(1024 * 1024 + 5 * piece.length);
  });

  it('are read no faster than they are taken', async () => {
    let produced = 0;
    const stream = new Readable({
      highWaterMark: 1024,
      read() {
        produced += 1;
        this.push(Buffer.alloc(512, 0x61).fill(0x0a, 511));
      },
    });
    const reader = readLines(stream, 10_000, WATCH);
    for (let taken = 0; taken < 3; taken += 1) await reader.next();
    // Whatever reads ahead has had every chance to.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(produced).toBeLessThan(10);
    await reader.return();
  });
});
