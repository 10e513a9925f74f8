import { describe, expect, it } from '@jest/globals';
import { boundedAsk } from '../../src/reconstruction/bounded-ask.ts';
import { SETTINGS, never } from '../fixtures/backend.ts';
import { manualClock } from '../fixtures/manual-clock.ts';

const asking = { settings: SETTINGS, signal: never };

describe('asking a port of the host', () => {
  it('takes its answer, an empty one as well [SURVIVAL-002.13]', async () => {
    const clock = manualClock();
    const answer = async (value: unknown): Promise<unknown> =>
      await boundedAsk({ ...asking, clock }, async () => await Promise.resolve(value));
    expect(await answer('x')).toEqual({ kind: 'read', value: 'x' });
    expect(await answer(null)).toEqual({ kind: 'read', value: null });
  });

  it.each([
    ['rejects', async (): Promise<never> => await Promise.reject(new Error('no registry'))],
    [
      'throws',
      (): never => {
        throw new Error('no registry');
      },
    ],
  ])('asks one that %s again over the whole budget, then gives up [SURVIVAL-002.13]', async (_how, fail) => {
    let asked = 0;
    const answer = await boundedAsk({ ...asking, clock: manualClock() }, async () => {
      asked += 1;
      return await fail();
    });
    expect(answer).toEqual({ kind: 'unread', detail: 'no registry' });
    expect(asked).toBe(SETTINGS.recoveryReadRetries + 1);
  });

  it('takes the answer of a later attempt [SURVIVAL-002.13]', async () => {
    let asked = 0;
    const answer = await boundedAsk({ ...asking, clock: manualClock() }, async () => {
      asked += 1;
      if (asked === 1) throw new Error('busy');
      return await Promise.resolve('x');
    });
    expect(answer).toEqual({ kind: 'read', value: 'x' });
  });

  it('gives one that hangs the read timeout for each attempt, tells it that it is given up, and drops what comes late [SURVIVAL-002.13]', async () => {
    const clock = manualClock();
    const late = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    const answer = boundedAsk({ ...asking, clock }, async (signal) => {
      signals.push(signal);
      return await late.promise;
    });
    for (let attempt = 0; attempt <= SETTINGS.recoveryReadRetries; attempt += 1) {
      expect(signals.map(({ aborted }) => aborted)).toEqual([...signals.slice(1).map(() => true), false]);
      clock.advance(SETTINGS.recoveryReadTimeoutMs);
      await new Promise(setImmediate);
    }
    expect(await answer).toEqual({
      kind: 'unread',
      detail: `no answer within ${String(SETTINGS.recoveryReadTimeoutMs)} ms`,
    });
    expect(signals).toHaveLength(SETTINGS.recoveryReadRetries + 1);
    late.reject(new Error('too late'));
    await new Promise(setImmediate);
  });

  it('rejects with the reason of the deadline, and asks no more after it', async () => {
    const deadline = new AbortController();
    let asked = 0;
    const answer = boundedAsk({ ...asking, signal: deadline.signal, clock: manualClock() }, async () => {
      asked += 1;
      deadline.abort(new Error('the deadline'));
      return await Promise.reject(new Error('cut'));
    });
    await expect(answer).rejects.toThrow('the deadline');
    expect(asked).toBe(1);
  });
});
