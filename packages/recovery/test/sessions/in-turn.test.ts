import { describe, expect, it } from '@jest/globals';
import { inTurn } from '../../src/sessions/in-turn.ts';

interface Works {
  /** In the order in which they started. */
  readonly started: readonly number[];
  readonly all: ReadonlyArray<Promise<number>>;
  readonly end: (index: number, error?: Error) => Promise<void>;
}

function works(count: number, atOnce: number, signal: AbortSignal): Works {
  const turn = inTurn(atOnce, signal);
  const started: number[] = [];
  const ends = Array.from({ length: count }, () => Promise.withResolvers<number>());
  const all = ends.map(
    async (end, index) =>
      await turn(async () => {
        started.push(index);
        return await end.promise;
      }),
  );
  return {
    started,
    all,
    end: async (index, error) => {
      if (error === undefined) ends[index]?.resolve(index);
      else ends[index]?.reject(error);
      await Promise.allSettled([all[index]]);
    },
  };
}

describe('works in turn', () => {
  it('run so many at once, the next one when one is done, however that ended', async () => {
    const { started, all, end } = works(4, 2, new AbortController().signal);
    expect(started).toEqual([0, 1]);
    await end(1, new Error('it failed'));
    await expect(all[1]).rejects.toThrow('it failed');
    expect(started).toEqual([0, 1, 2]);
    for (const index of [0, 2, 3]) await end(index);
    expect(await Promise.all([all[0], all[2], all[3]])).toEqual([0, 2, 3]);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  it('wait no more once the signal aborts', async () => {
    const due = new AbortController();
    const { started, all, end } = works(4, 1, due.signal);
    expect(started).toEqual([0]);
    due.abort();
    for (const index of [3, 2, 1, 0]) await end(index);
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3]);
    expect(started).toEqual([0, 1, 2, 3]);
  });
});
