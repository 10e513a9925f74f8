import { describe, expect, it } from '@jest/globals';
import { Slots } from '../src/sessions/slots.ts';
import { never } from './fixtures/backend.ts';

async function turns(): Promise<void> {
  await new Promise(setImmediate);
}

describe('slots', () => {
  it('let so many works run at the same time, and the others in the order in which they came', async () => {
    const slots = new Slots(2);
    const begun: number[] = [];
    const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
    const works = ends.map(
      async ({ promise }, index) =>
        await slots.run(never, async () => {
          begun.push(index);
          return await promise;
        }),
    );
    await turns();
    expect(begun).toEqual([0, 1]);
    ends[1]?.resolve(11);
    await turns();
    expect(begun).toEqual([0, 1, 2]);
    const failure = works[0]?.catch((error: unknown) => String(error));
    ends[0]?.reject(new Error('failed'));
    expect(await failure).toBe('Error: failed');
    ends[2]?.resolve(12);
    await turns();
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    ends[3]?.resolve(13);
    ends[4]?.resolve(14);
    expect(await Promise.all(works.slice(1))).toEqual([11, 12, 13, 14]);
  });

  it('are not lost by who gives up: before its turn, and in the moment of its turn', async () => {
    const slots = new Slots(1);
    const first = Promise.withResolvers<void>();
    const running = slots.run(never, async () => {
      await first.promise;
    });
    const [early, late] = [new AbortController(), new AbortController()];
    const work = async (): Promise<string> => await Promise.resolve('done');
    const [earlier, later] = [early, late].map(
      async ({ signal }) => await slots.run(signal, work).catch((error: unknown) => String(error)),
    );
    early.abort(new Error('early'));
    expect(await earlier).toBe('Error: early');
    late.abort(new Error('late'));
    first.resolve();
    await running;
    expect(await later).toBe('Error: late');
    expect(await slots.run(never, work)).toBe('done');
    await expect(slots.run(early.signal, work)).rejects.toThrow('early');
    expect(await slots.run(never, work)).toBe('done');
  });
});
