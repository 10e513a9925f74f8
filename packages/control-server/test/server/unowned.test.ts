import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { BASE_PATH, ControlError } from '@holdfast/control-protocol';
import { LONGEST_STEP_MS } from '../../src/ports/running-clock.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { InstanceOf, NONCE, SETTINGS, endOf, ownedServer } from '../support/owned-server.ts';
import { rawRequest } from '../support/raw-request.ts';

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
    expect(await endOf(owned)).toEqual({ why: 'unowned' });
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
    expect(await endOf(owned)).toEqual({ why: 'unowned' });
    clearInterval(moving);
  });

  it('neither shortens nor renews the period for a call that fails, whatever the time of day does [OWNERSHIP-003.3] [OWNERSHIP-003.8]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    const { client: first, stranger, server } = owned;
    const { credential } = await first.call('rotate', {});
    const second = first.withCredential(credential);
    const headers = { Authorization: `Bearer ${credential}` };
    const failing: ReadonlyArray<() => Promise<unknown>> = [
      async () => await first.call('claim', {}),
      async () => await stranger.withCredential('unknown').call('claim', {}),
      async () => await stranger.withCredential('unknown').call('rotate', {}),
      async () => await stranger.call('claim', {}),
      async () => await stranger.call('bootstrap', { nonce: 'wrong' }),
      async () => await second.call('confirm', { rotationId: 9 }),
    ];
    const claim = { method: 'POST', path: `${BASE_PATH}/ownership/claim` };
    await second.call('claim', {});
    for (const days of [0, 400, -400]) {
      clock.setWall(days * 24 * 3_600_000);
      for (const call of failing) await expect(call()).rejects.toBeInstanceOf(ControlError);
      for (const body of ['{"typo":1}', 'no JSON', 'x'.repeat(2 * 1024 * 1024)]) {
        expect((await rawRequest(server.endpoint, { ...claim, headers, body })).status).toBeGreaterThan(399);
      }
      clock.advance(PERIOD / 4);
    }
    // Three quarters have passed, and one failed call more comes at the last moment.
    clock.advance(PERIOD / 4 - 1);
    await expect(first.call('claim', {})).rejects.toMatchObject({ code: 'credential_superseded' });
    expect(await second.call('getOwnership', {})).toMatchObject({ rotationId: 2 });
    clock.advance(1);
    expect(await endOf(owned)).toEqual({ why: 'unowned' });
  });

  it('does not count the time in which it did not run [OWNERSHIP-003.3]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    const first = owned.client;
    const second = first.withCredential((await first.call('rotate', {})).credential);
    clock.advance(PERIOD / 2);
    // The machine sleeps, and what comes first after that is a call or a timer.
    clock.sleep(8 * 3_600_000);
    expect(await second.call('claim', {})).toEqual({ expiresInMs: PERIOD });
    clock.advance(PERIOD / 4);
    clock.sleep(8 * 3_600_000);
    clock.advance(0);
    // Whoever died before it could store the second one has not lost its window either.
    expect(await first.call('rotate', {})).toMatchObject({ rotationId: 2, replayed: true });
    clock.sleep(8 * 3_600_000);
    clock.advance(PERIOD - LONGEST_STEP_MS - 1);
    await second.call('getOwnership', {});
    clock.advance(1);
    expect(await endOf(owned)).toEqual({ why: 'unowned' });
    expect(await readFile(owned.server.logFile, 'utf8')).toContain('did not run for a while');
  });

  it('shows the period in force and says in its log why it is another one', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, unownedPeriodMs: 7_200_000 } });
    expect(await owned.stranger.call('getIdentity', {})).toMatchObject({ unownedPeriodMs: 1_800_000 });
    expect(await readFile(owned.server.logFile, 'utf8')).toContain('set to half of that, 30m');
  });
});
