import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { SessionGuard } from '@holdfast/turn-ledger';

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

describe('the session guard', () => {
  it('has one holder at a time, first come first served', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    const first = gate();
    const holds = ['a', 'b', 'c'].map(
      async (name) =>
        await guard.hold('s', async () => {
          order.push(`${name} in`);
          if (name === 'a') await first.opened;
          await Promise.resolve();
          order.push(`${name} out`);
          return name;
        }),
    );
    expect(guard.isHeld('s')).toBe(true);
    first.open();
    expect(await Promise.all(holds)).toEqual(['a', 'b', 'c']);
    expect(order).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
    await new Promise(setImmediate);
    expect(guard.isHeld('s')).toBe(false);
  });

  it('takes hold at once when nobody has it', () => {
    const guard = new SessionGuard();
    let held = false;
    void guard.hold('s', () => {
      held = true;
    });
    expect(held).toBe(true);
  });

  it('knows sessions apart', async () => {
    const guard = new SessionGuard();
    const never = gate();
    const held = guard.hold('busy', async () => {
      await never.opened;
    });
    expect(await guard.hold('free', () => 'through')).toBe('through');
    never.open();
    await held;
  });

  it('goes on after a holder that failed', async () => {
    const guard = new SessionGuard();
    const failing = guard.hold('s', () => {
      throw new Error('broken');
    });
    const next = guard.hold('s', () => 'next');
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('next');
  });

  it('lets one who waits give up, and keeps the order of the others', async () => {
    const guard = new SessionGuard();
    const first = gate();
    const order: string[] = [];
    const holding = guard.hold('s', async () => {
      await first.opened;
      order.push('first');
    });
    const giveUp = new AbortController();
    const waiting = guard.hold('s', () => order.push('gave up'), { signal: giveUp.signal });
    const last = guard.hold('s', () => order.push('last'));
    giveUp.abort(new Error('no time'));
    await expect(waiting).rejects.toThrow('no time');
    expect(order).toEqual([]);
    first.open();
    await Promise.all([holding, last]);
    expect(order).toEqual(['first', 'last']);
  });

  it('does not begin for a signal that has aborted, nor stop for one that does later', async () => {
    const guard = new SessionGuard();
    await expect(
      guard.hold('s', () => 'never', { signal: AbortSignal.abort(new Error('late')) }),
    ).rejects.toThrow('late');
    const controller = new AbortController();
    const result = guard.hold(
      's',
      async () => {
        controller.abort();
        await Promise.resolve();
        return 'done';
      },
      { signal: controller.signal },
    );
    expect(await result).toBe('done');
  });

  it('never has two holders, never loses one, and forgets sessions', async () => {
    const hold = fc.record({
      session: fc.constantFrom('a', 'b'),
      ticks: fc.nat({ max: 4 }),
      abortAfter: fc.option(fc.nat({ max: 6 }), { nil: null }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(hold, { maxLength: 20 }), async (holds) => {
        const guard = new SessionGuard();
        const inside = new Map<string, number>();
        const entered = new Map<string, number[]>([
          ['a', []],
          ['b', []],
        ]);
        const settled = await Promise.allSettled(
          holds.map(async ({ session, ticks, abortAfter, fails }, index) => {
            const controller = new AbortController();
            if (abortAfter !== null) void tick(abortAfter).then(() => controller.abort());
            await guard.hold(
              session,
              async () => {
                inside.set(session, (inside.get(session) ?? 0) + 1);
                expect(inside.get(session)).toBe(1);
                entered.get(session)?.push(index);
                await tick(ticks);
                inside.set(session, 0);
                if (fails) throw new Error('broken');
              },
              { signal: controller.signal },
            );
          }),
        );
        for (const order of entered.values())
          expect(order).toEqual(order.toSorted((one, other) => one - other));
        const cameThrough = (index: number): boolean =>
          [...entered.values()].some((order) => order.includes(index));
        const lost = holds.filter(({ abortAfter }, index) => abortAfter === null && !cameThrough(index));
        expect(lost).toEqual([]);
        expect(settled.map(({ status }) => status)).toEqual(
          holds.map(({ fails }, index) => (cameThrough(index) && !fails ? 'fulfilled' : 'rejected')),
        );
        await new Promise(setImmediate);
        expect([guard.isHeld('a'), guard.isHeld('b')]).toEqual([false, false]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a hold', () => {
  it('lets in what has to get through while it is lent, and waits for that before it is released', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    const foreign = gate();
    const stop = gate();
    const lending = guard.hold('s', async (held) => {
      await held.lend(async () => {
        await foreign.opened;
      });
    });
    const waiting = guard.hold('s', () => order.push('after'));
    const joined = guard.hold(
      's',
      async () => {
        order.push('in');
        await stop.opened;
        order.push('out');
      },
      { joinsLent: true },
    );
    await new Promise(setImmediate);
    expect(order).toEqual(['in']);
    foreign.open();
    await new Promise(setImmediate);
    expect(order).toEqual(['in']);
    stop.open();
    await Promise.all([lending, waiting, joined]);
    expect(order).toEqual(['in', 'out', 'after']);
    // Nothing is lent any more: it waits as everybody does.
    const last = gate();
    const holder = guard.hold('s', async () => {
      await last.opened;
    });
    const late = guard.hold('s', () => order.push('late'), { joinsLent: true });
    await new Promise(setImmediate);
    expect(order).not.toContain('late');
    last.open();
    await Promise.all([holder, late]);
  });

  it('does what has to wait for its release right after it, also when it failed [GENERATION-10]', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    const subscriber = async (): Promise<void> => {
      await guard.hold('s', () => order.push('subscriber in'));
    };
    const steps: Array<Promise<void>> = [];
    const failing = guard.hold('s', (held) => {
      held.afterRelease(() => {
        order.push('published');
        steps.push(subscriber());
      });
      order.push('held');
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    await Promise.all(steps);
    expect(order).toEqual(['held', 'published', 'subscriber in']);
  });

  it('that was lent takes in what the code asks for, one after the other, and ends after all of it', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    const first = gate();
    const holding = guard.hold('s', async (held) => {
      await held.lend(async () => {
        const inner = guard.hold('s', async () => {
          order.push('one in');
          await first.opened;
          order.push('one out');
        });
        void guard.hold('s', async () => {
          await new Promise(setImmediate);
          order.push('two');
        });
        expect(await guard.hold('other', () => 'another session')).toBe('another session');
        first.open();
        await inner;
      });
      order.push('released');
    });
    const next = guard.hold('s', () => order.push('next'));
    await Promise.all([holding, next]);
    expect(order).toEqual(['one in', 'one out', 'two', 'released', 'next']);
  });

  it('that was lent is over with the code it was lent to; what that left behind waits like everybody', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    const late = gate();
    let leftBehind: Promise<unknown> | undefined;
    const second = gate();
    await guard.hold('s', async (held) => {
      await held.lend(() => {
        leftBehind = late.opened.then(async () => await guard.hold('s', () => order.push('left behind')));
      });
    });
    const other = guard.hold('s', async () => {
      late.open();
      await second.opened;
      order.push('other out');
    });
    await new Promise(setImmediate);
    second.open();
    await Promise.all([other, leftBehind]);
    expect(order).toEqual(['other out', 'left behind']);
  });

  it('that was lent takes in nothing that is started outside of it', async () => {
    const guard = new SessionGuard();
    const order: string[] = [];
    let outside: Promise<unknown> | undefined;
    await guard.hold('s', async (held) => {
      await held.lend(async () => {
        outside = guard.outside(async () => await guard.hold('s', () => order.push('outside')));
        await new Promise(setImmediate);
      });
      order.push('over');
    });
    await outside;
    expect(order).toEqual(['over', 'outside']);
  });
});

async function tick(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await Promise.resolve();
}
