import { describe, expect, it } from '@jest/globals';
import { Ownership } from '../../src/ownership/ownership.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { randomBytes } from 'node:crypto';

function make(): { clock: ManualClock; ownership: Ownership } {
  const clock = new ManualClock();
  const ownership = new Ownership({
    clock,
    random: randomBytes,
    serverId: 'server-1',
    unownedPeriodMs: 60_000,
    nonce: 'nonce',
    countInstances: () => 2,
  });
  return { clock, ownership };
}

const code = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
  return 'no error';
};

describe('ownership', () => {
  it('is renewed by bootstrap, claim and rotation, replays included, and by nothing else', async () => {
    const { clock, ownership } = make();
    clock.advance(59_999);
    const first = ownership.bootstrap('nonce').credential;
    clock.advance(59_999);
    expect(ownership.claim()).toBe(60_000);
    clock.advance(59_999);
    const second = ownership.rotate(first).held.credential;
    clock.advance(59_999);
    expect(ownership.rotate(first).replayed).toBe(true);
    clock.advance(59_999);
    ownership.authorize('driver', second);
    ownership.confirm(second, 2);
    await ownership.prove('x'.repeat(43), '');
    clock.advance(1);
    expect(code(() => ownership.claim())).toBe('shutting_down');
    expect(await ownership.closing).toBe('unowned');
    expect(clock.pending).toBe(0);
  });

  it('runs from the start before anything renewed it', async () => {
    const { clock, ownership } = make();
    clock.advance(60_000);
    expect(await ownership.closing).toBe('unowned');
    expect(code(() => ownership.bootstrap('nonce'))).toBe('shutting_down');
  });

  it('lets a claim before the decision win, and takes the decision once', async () => {
    const { clock, ownership } = make();
    const { credential } = ownership.bootstrap('nonce');
    clock.advance(59_999);
    ownership.claim();
    clock.advance(1);
    expect(ownership.claim()).toBe(60_000);
    clock.advance(60_000);
    expect(code(() => ownership.claim())).toBe('shutting_down');
    expect(code(() => ownership.rotate(credential))).toBe('shutting_down');
    expect(ownership.shutDown('shutdown')).toBe(2);
    expect(await ownership.closing).toBe('unowned');
  });

  it('spends its nonce once, and not on a wrong try', () => {
    const { ownership } = make();
    expect(code(() => ownership.bootstrap('wrong'))).toBe('bootstrap_rejected');
    ownership.bootstrap('nonce');
    expect(code(() => ownership.bootstrap('nonce'))).toBe('bootstrap_consumed');
  });
});
