import { expect, it } from '@jest/globals';
import { until } from '@holdfast/testbeds';
import { ColdStarts } from '../../src/npm-runtime/cold-starts.ts';
import { systemClock } from '../../src/ports/clock.ts';

const never = (): AbortSignal => new AbortController().signal;

/** A start that waits for its turn. */
function entry(
  starts: ColdStarts,
  facts: { key?: string; signal?: AbortSignal; isInstalled?: () => boolean } = {},
) {
  const { key = 'k', signal = never(), isInstalled = () => false } = facts;
  const start = { entered: false, over: (): void => undefined, error: undefined as unknown };
  void starts.enter({ key, signal, isInstalled: async () => await Promise.resolve(isInstalled()) }).then(
    (over) => {
      start.entered = true;
      start.over = over;
    },
    (error: unknown) => {
      start.error = error;
    },
  );
  return start;
}

const entered = async (one: { entered: boolean }): Promise<void> => {
  await until(() => one.entered, { reason: 'a start to have its turn', withinMs: 60_000 });
};

it('lets starts of one package go one after the other while it is not installed', async () => {
  const starts = new ColdStarts(systemClock());
  const first = entry(starts);
  const second = entry(starts);
  const third = entry(starts);
  const other = entry(starts, { key: 'other' });
  await entered(first);
  await entered(other);
  expect([second.entered, third.entered]).toEqual([false, false]);
  first.over();
  await entered(second);
  expect(third.entered).toBe(false);
  second.over();
  await entered(third);
});

it('lets all go as soon as it is installed, also before the first has started', async () => {
  const starts = new ColdStarts(systemClock());
  let installed = false;
  const isInstalled = (): boolean => installed;
  const first = entry(starts, { isInstalled });
  const second = entry(starts, { isInstalled });
  await entered(first);
  expect(second.entered).toBe(false);
  installed = true;
  const third = entry(starts, { isInstalled });
  await entered(second);
  await entered(third);
  second.over();
  const fourth = entry(starts, { isInstalled: () => false });
  await entered(third);
  expect(fourth.entered).toBe(false);
  first.over();
  await entered(fourth);
});

it('lets nobody wait who has given up', async () => {
  const starts = new ColdStarts(systemClock());
  const stop = new AbortController();
  const first = entry(starts);
  const second = entry(starts, { signal: stop.signal });
  const third = entry(starts);
  await entered(first);
  stop.abort('stopped');
  await until(() => second.error, { reason: 'a waiting start to be given up', withinMs: 60_000 });
  expect(second.error).toBe('stopped');
  first.over();
  await entered(third);
  expect(entry(starts, { signal: stop.signal, key: 'other' }).entered).toBe(false);
});
