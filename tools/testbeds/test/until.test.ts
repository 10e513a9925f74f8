import { describe, expect, it } from '@jest/globals';
import { ConditionNotMetError, until } from '@holdfast/testbeds';

describe('until', () => {
  it('gives the first truthy value', async () => {
    let looks = 0;
    const value = await until(
      () => {
        looks += 1;
        return looks === 3 && 'third';
      },
      { reason: 'the third look', withinMs: 60_000, everyMs: 1 },
    );
    expect(value).toBe('third');
    expect(looks).toBe(3);
  });

  it('looks once more after a look that threw, asynchronous ones included', async () => {
    let looks = 0;
    const value = await until(
      async () => {
        looks += 1;
        if (looks < 3) throw new Error('not yet');
        return await Promise.resolve(looks);
      },
      { reason: 'a look that works', withinMs: 60_000, everyMs: 1 },
    );
    expect(value).toBe(3);
  });

  it('names the reason and the last value at the deadline', async () => {
    const waiting = until(() => 0, { reason: 'a number', withinMs: 30, everyMs: 5 });
    await expect(waiting).rejects.toThrow('Waited 30 ms for a number; the last value was 0.');
    await expect(waiting).rejects.toMatchObject({
      code: 'condition_not_met',
      reason: 'a number',
      lastValue: 0,
    });
  });

  it('names the last error at the deadline', async () => {
    const error = new Error('broken');
    const waiting = until(
      () => {
        throw error;
      },
      { reason: 'luck', withinMs: 20, everyMs: 5 },
    );
    await expect(waiting).rejects.toThrow('the last look threw Error: broken');
    await expect(waiting).rejects.toMatchObject({ cause: error });
  });

  it('is not outlasted by a look that hangs', async () => {
    const waiting = until(async () => await new Promise<never>(() => undefined), {
      reason: 'ever',
      withinMs: 30,
    });
    await expect(waiting).rejects.toThrow(ConditionNotMetError);
    await expect(waiting).rejects.toThrow('the condition never answered');
  });
});
