import { describe, expect, it } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { readLineRange } from '../../src/workspace/text-lines.ts';

async function* chunked(text: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let position = 0;
  for (const size of [...sizes, text.length]) {
    if (position >= text.length) return;
    yield await Promise.resolve(text.subarray(position, position + size));
    position += size;
  }
}

describe('a range of lines', () => {
  it('is what splitting the whole text gives, wherever the chunks end', async () => {
    const texts = array(constantFrom('a', 'ü', '\r', '\n', '\n\n', 'long word')).map((parts) =>
      parts.join(''),
    );
    await assert(
      asyncProperty(
        texts,
        array(integer({ min: 1, max: 5 })),
        integer({ min: 1, max: 8 }),
        integer({ min: 0, max: 8 }),
        async (text, sizes, first, count) => {
          const lines = text.split(/(?<=\n)/).slice(first - 1, first - 1 + count);
          const read = await readLineRange(chunked(Buffer.from(text), sizes), { first, count }, 10_000);
          expect(read?.toString('utf8')).toBe(lines.join(''));
        },
      ),
    );
  });

  it('is null when it is larger than may be', async () => {
    const text = Buffer.from('one\ntwo\nthree\n');
    expect(await readLineRange(chunked(text, [3]), { first: 1, count: 2 }, 8)).toEqual(
      Buffer.from('one\ntwo\n'),
    );
    expect(await readLineRange(chunked(text, [3]), { first: 1, count: 2 }, 7)).toBeNull();
  });

  it('reads no further than its last line', async () => {
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) yield await Promise.resolve(Buffer.from('line\n'));
    }
    expect(await readLineRange(endless(), { first: 3, count: 1 }, 100)).toEqual(Buffer.from('line\n'));
  });
});
