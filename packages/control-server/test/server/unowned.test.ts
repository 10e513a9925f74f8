import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { ManualClock } from '../support/manual-clock.ts';
import { InstanceOf, NONCE, SETTINGS, ownedServer } from '../support/owned-server.ts';

jest.setTimeout(60_000);

const PERIOD = SETTINGS.unownedPeriodMs;

describe('a server on a clock that the test moves', () => {
  it('is renewed by claim, bootstrap and rotation, replays included, and by nothing else [OWNERSHIP-003.8]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    const { client: first, stranger } = owned;
    clock.advance(PERIOD - 1);
    expect(await first.call('claim', {})).toEqual({ expiresInMs: PERIOD });
    clock.advance(PERIOD - 1);
    const second = first.withCredential((await first.call('rotate', {})).credential);
    clock.advance(PERIOD - 1);
    expect(await first.call('rotate', {})).toMatchObject({ replayed: true });
    clock.advance(PERIOD - 1);

    const instance = await InstanceOf.create({ client: second, home: owned.home });
    await using stream = await second.openEvents(instance.instanceId, { after: 0 });
    await second.call('listInstances', {});
    await second.call('getOwnership', {});
    await second.call('confirm', { rotationId: 2 });
    await stranger.call('getIdentity', {});
    await stranger.call('proveOwnership', { challenge: randomBytes(32).toString('base64url') });
    await expect(stranger.call('bootstrap', { nonce: NONCE })).rejects.toMatchObject({
      code: 'bootstrap_consumed',
    });
    clock.advance(1);
    expect(await owned.server.ended).toEqual({ why: 'unowned' });
    expect((await stream.ended).code).toBe(4005);
  });

  it('decides to stop once: a claim before it wins, one after it is told so [OWNERSHIP-003.9]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    clock.advance(PERIOD - 1);
    await owned.client.call('claim', {});
    clock.advance(1);
    expect(await owned.client.call('claim', {})).toEqual({ expiresInMs: PERIOD });

    // An agent that takes its time keeps the server stopping for a moment.
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'ignoreSigterm' },
      { step: 'waitFor', file: 'never' },
    );
    clock.advance(PERIOD);
    await expect(owned.client.call('claim', {})).rejects.toMatchObject({ code: 'shutting_down' });
    await expect(owned.client.call('rotate', {})).rejects.toMatchObject({ code: 'shutting_down' });
    expect(await owned.client.call('shutdown', {})).toEqual({ stopping: true, instances: 1 });
    const moving = setInterval(() => {
      clock.advance(100);
    }, 10);
    expect(await owned.server.ended).toEqual({ why: 'unowned' });
    clearInterval(moving);
  });

  it('shows the period in force and says in its log why it is another one', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, unownedPeriodMs: 7_200_000 } });
    expect(await owned.stranger.call('getIdentity', {})).toMatchObject({ unownedPeriodMs: 1_800_000 });
    expect(await readFile(owned.server.logFile, 'utf8')).toContain('set to half of that, 30m');
  });
});
