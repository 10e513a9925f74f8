import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { STREAM_CLOSE } from '@holdfast/control-protocol';
import { until } from '@holdfast/testbeds';
import { InstanceOf, SETTINGS, isType, ownedServer, readUntil, textsOf } from '../support/owned-server.ts';

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `chunk ${String(index + 1)}/${String(count)}`);

describe('events of an instance', () => {
  it('keeps what was produced while detached and delivers it in order [SURVIVAL-001.5]', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'chunks', count: 50 });
    await instance.untilIt('the turn to end', ({ activeTurnId }) => activeTurnId === null);

    await using stream = await instance.attach(0);
    expect(stream.attached).toMatchObject({ replayFrom: 1, nextSeq: 53 });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 52 }, (_, index) => index + 1));
    expect(events[0]?.event).toEqual({ type: 'turn_started', turnId, promptGeneration: 1 });
    expect(textsOf(events)).toEqual(numbered(50));
  });

  it('pauses the agent at the limit, drops nothing and goes on at attach [SURVIVAL-001.6]', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 10 } });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(
      1,
      { step: 'flood', count: 3000, bytes: 1000 },
      { step: 'touch', file: 'all-written' },
    );
    await instance.untilIt('the producer to be paused', ({ journal }) => journal.paused);
    expect((await instance.describe()).journal).toEqual({ nextSeq: 11, unacknowledged: 10, paused: true });
    expect(existsSync(owned.home.path('workspace', 'all-written'))).toBe(false);

    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('turn_ended'), { acknowledge: true });
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 3002 }, (_, index) => index + 1));
    expect(textsOf(events).map((text) => text.replace(/\.*$/, ''))).toEqual(
      Array.from({ length: 3000 }, (_, index) => `flood ${String(index + 1)}/3000`),
    );
  });

  it('are joined while their reader is busy, in order, so that each delivery is worth a durable commit', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'chunks', count: 400, everyMs: 1 });
    await instance.untilIt('the turn to end unread', ({ activeTurnId }) => activeTurnId === null);
    const sizes: number[] = [];
    const seqs: number[] = [];
    for await (const delivery of stream) {
      if (delivery.type !== 'events') continue;
      sizes.push(delivery.events.length);
      seqs.push(...delivery.events.map(({ seq }) => seq));
      if (delivery.events.some(isType('turn_ended'))) break;
    }
    expect(seqs).toEqual(Array.from({ length: 402 }, (_, index) => index + 1));
    expect(sizes.length).toBeLessThan(10);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(250);
  });

  it('has at most a window of events in flight while attached', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'chunks', count: 1500 });
    await readUntil(stream, ({ seq }) => seq === 1000);
    await instance.untilIt('the window to be full', ({ journal }) => journal.paused);
    expect((await instance.describe()).journal).toEqual({
      nextSeq: 1001,
      unacknowledged: 1000,
      paused: true,
    });
    stream.acknowledge(1000);
    const rest = await readUntil(stream, isType('turn_ended'));
    expect(rest[0]?.seq).toBe(1001);
  });

  it('has no more than that in flight of what was kept before, whatever its detached limit', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 3000 } });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'chunks', count: 2500 }, { step: 'silence' });
    await instance.untilIt('all of it to be kept', ({ journal }) => journal.nextSeq === 2502);
    await using stream = await instance.attach(0);
    expect((await readUntil(stream, ({ seq }) => seq === 1000)).at(-1)?.seq).toBe(1000);
    stream.acknowledge(1);
    expect(await readUntil(stream, ({ seq }) => seq > 1000)).toMatchObject([{ seq: 1001 }]);
    stream.acknowledge(1001);
    expect((await readUntil(stream, ({ seq }) => seq === 2001)).at(-1)?.seq).toBe(2001);
    stream.acknowledge(2001);
    const rest = await readUntil(stream, ({ seq }) => seq === 2501);
    expect(rest[0]?.seq).toBe(2002);
  });

  it('decides on pausing for each instance by its own stream [SURVIVAL-001.9]', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 10 } });
    const [detached, attached] = [await InstanceOf.create(owned), await InstanceOf.create(owned)];
    await Promise.all([detached.start(), attached.start()]);
    await using stream = await attached.attach(0);
    await detached.prompt(1, { step: 'chunks', count: 30 });
    await attached.prompt(1, { step: 'chunks', count: 30 });
    await readUntil(stream, isType('turn_ended'));
    await detached.untilIt('the one without a stream to be paused', ({ journal }) => journal.paused);
    expect((await attached.describe()).journal.paused).toBe(false);
  });

  it('delivers again what was received but not acknowledged [BEYOND-02]', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const first = await instance.attach(0);
    await instance.prompt(1, { step: 'chunks', count: 5 });
    const seen = await readUntil(first, isType('turn_ended'));
    first.acknowledge(3);
    await instance.untilIt('the acknowledgement to arrive', ({ journal }) => journal.unacknowledged === 4);
    await first.close();

    await using again = await instance.attach(3);
    expect(again.attached).toMatchObject({ replayFrom: 4, nextSeq: 8 });
    expect(await readUntil(again, isType('turn_ended'))).toEqual(seen.slice(3));
  });

  it('takes "after" as an acknowledgement and refuses one that was never sent', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'say', text: 'hello' });
    await instance.untilIt('the turn to end', ({ activeTurnId }) => activeTurnId === null);
    await expect(instance.attach(4)).rejects.toMatchObject({ code: 'invalid_request' });
    await using stream = await instance.attach(3);
    expect(stream.attached).toMatchObject({ replayFrom: 4, nextSeq: 4 });
    expect((await instance.describe()).journal.unacknowledged).toBe(0);
    stream.acknowledge(4);
    expect(await stream.ended).toMatchObject({ code: STREAM_CLOSE.protocolViolation });
  });

  it('gives the place of a stream to a newer one', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const first = await instance.attach(0);
    await using second = await instance.attach(0);
    expect(await first.ended).toMatchObject({ code: STREAM_CLOSE.replaced });
    expect((await instance.describe()).attached).toBe(true);
    await second.close();
    await instance.untilIt('the instance to be detached', ({ attached }) => !attached);
  });

  it('releases a paused producer when its instance stops [SURVIVAL-001.10] [CONTRACT-12] [CONTRACT-13]', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 1 } });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'chunks', count: 30 }, { step: 'silence' });
    await instance.untilIt('the producer to be paused', ({ journal }) => journal.paused);
    const begun = performance.now();
    await owned.client.call('deleteInstance', { instanceId: instance.instanceId });
    // Far below what anything else would release it after.
    expect(performance.now() - begun).toBeLessThan(30_000);
    await expect(instance.describe()).rejects.toMatchObject({ code: 'instance_not_found' });
  });

  it('stops although every kind of producer waits for room [CONTRACT-13]', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 1 } });
    const waiting = await Promise.all(
      [
        { step: 'say', text: 'x' } as const,
        { step: 'permission', title: 'x' } as const,
        { step: 'silence' } as const,
      ].map(async (step) => {
        const instance = await InstanceOf.create(owned);
        await instance.start();
        const turnId = await instance.prompt(1, step);
        if (step.step === 'silence') {
          // Its end finds no room either.
          await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
        }
        await instance.untilIt('its producer to wait', ({ journal }) => journal.paused);
        return instance;
      }),
    );
    expect(waiting).toHaveLength(3);
    await owned.server.stop();
    expect(await owned.server.ended).toEqual({ why: 'stopped' });
  });

  it('closes the stream of an instance that is stopped', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const stream = await instance.attach(0);
    await owned.client.call('deleteInstance', { instanceId: instance.instanceId });
    expect(await stream.ended).toMatchObject({ code: STREAM_CLOSE.instanceStopped });
  });

  it('hands on updates as the agent sent them, unknown ones included, and what they say about the context', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const update = { sessionUpdate: 'from_the_future', deep: { list: [1, null, 'ü'] } };
    await instance.prompt(
      1,
      { step: 'rawLine', line: 'this is no message' },
      { step: 'unknownUpdate', update },
      { step: 'usage', used: 5, size: 20 },
    );
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.map(({ event }) => event)).toMatchObject([
      { type: 'turn_started' },
      { type: 'session_update', update },
      { type: 'session_update', update: { sessionUpdate: 'usage_update', used: 5, size: 20 } },
      { type: 'context_window', size: 20, used: 5 },
      { type: 'turn_ended' },
    ]);
  });

  it('closes every stream of an older credential at rotation [OWNERSHIP-002.2]', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const stream = await instance.attach(0);
    const { credential } = await owned.client.call('rotate', {});
    expect(await stream.ended).toMatchObject({ code: STREAM_CLOSE.superseded });
    await expect(instance.attach(0)).rejects.toMatchObject({ code: 'credential_superseded' });
    await using adopted = await owned.client
      .withCredential(credential)
      .openEvents(instance.instanceId, { after: 0 });
    expect(adopted.attached.nextSeq).toBe(1);
  });

  it('delivers agent output that was written just before the agent ended', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(
      1,
      { step: 'chunks', count: 400 },
      { step: 'stderr', text: 'bye' },
      { step: 'crash', exitCode: 7 },
    );
    const events = await readUntil(stream, isType('agent_exited'), { acknowledge: true });
    expect(textsOf(events)).toEqual(numbered(400));
    expect(events.slice(-2).map(({ event }) => event)).toMatchObject([
      { type: 'turn_ended', turnId, outcome: { kind: 'failed', stopReason: 'agent_exited' } },
      { type: 'agent_exited', code: 7, signal: null, expected: false, stderr: ['bye'] },
    ]);
    await until(async () => (await instance.describe()).status === 'failed', {
      reason: 'the instance to say that its agent failed',
      withinMs: 60_000,
    });
  });
});
