import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  InstanceOf,
  SETTINGS,
  accelerated,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type Steps,
} from '../support/owned-server.ts';

const turnEnded = ({ activeTurnId }: { readonly activeTurnId: string | null }): boolean =>
  activeTurnId === null;

describe('turns', () => {
  it('keeps the outcome of a turn that ended while detached, until its id is acknowledged [SURVIVAL-004.1] [SURVIVAL-004.6]', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'say', text: 'done' });
    await instance.untilIt('the turn to end', turnEnded);

    const report = await instance.turns();
    expect(report).toMatchObject({
      active: null,
      lastPromptGeneration: 1,
      retained: [
        { turnId, promptGeneration: 1, outcome: { kind: 'completed', stopReason: 'end_turn' }, seq: 3 },
      ],
    });
    expect(await instance.turns()).toEqual(report);

    const { instanceId } = instance;
    await owned.client.call('acknowledgeTurn', { instanceId, turnId: 'never-heard-of' });
    expect(await instance.turns()).toEqual(report);
    await owned.client.call('acknowledgeTurn', { instanceId, turnId });
    expect((await instance.turns()).retained).toEqual([]);
    await owned.client.call('acknowledgeTurn', { instanceId, turnId });
  });

  it('brings the generation of a prompt back on its end [GENERATION-05]', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const first = await instance.prompt(7, { step: 'say', text: 'hello' });
    const [started] = await readUntil(stream, isType('turn_ended'));
    expect(started?.event).toEqual({ type: 'turn_started', turnId: first, promptGeneration: 7 });
    const second = await instance.prompt(12, { step: 'fail', code: -32_001, message: 'no luck' });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toEqual({
      type: 'turn_ended',
      turnId: second,
      promptGeneration: 12,
      outcome: { kind: 'failed', stopReason: 'error', error: { code: '-32001', message: 'no luck' } },
    });
    expect(first).not.toBe(second);
  });

  it('does not run a prompt twice when its request is repeated', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(3, { step: 'say', text: 'once' });
    await instance.untilIt('the turn to end', turnEnded);
    await expect(instance.prompt(3, { step: 'say', text: 'once' })).rejects.toMatchObject({
      code: 'invalid_request',
      details: {
        issues: [{ path: ['promptGeneration'], message: expect.stringMatching(/above 3.* it is 3/) }],
      },
    });
    expect((await instance.turns()).retained).toHaveLength(1);
  });

  it('refuses a prompt without an agent and one during a turn', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await expect(instance.prompt(1, { step: 'silence' })).rejects.toMatchObject({
      code: 'agent_not_running',
    });
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'silence' });
    expect((await instance.describe()).status).toBe('running');
    await expect(instance.prompt(2, { step: 'silence' })).rejects.toMatchObject({
      code: 'turn_in_progress',
      details: { turnId },
    });
    expect(await instance.turns()).toMatchObject({ active: { turnId }, lastPromptGeneration: 1 });
  });

  it('refuses a prompt while 32 outcomes are unacknowledged', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    let last = '';
    for (let generation = 1; generation <= 32; generation += 1) {
      last = await instance.prompt(generation, { step: 'say', text: 'x' });
      await readUntil(stream, isType('turn_ended'), { acknowledge: true });
    }
    await expect(instance.prompt(33, { step: 'say', text: 'x' })).rejects.toMatchObject({
      code: 'outcomes_unacknowledged',
    });
    await owned.client.call('acknowledgeTurn', { instanceId: instance.instanceId, turnId: last });
    await instance.prompt(33, { step: 'say', text: 'x' });
    await readUntil(stream, isType('turn_ended'));
  });

  const ENDS: ReadonlyArray<readonly [string, Steps, object]> = [
    [
      'max tokens',
      [{ step: 'end', stopReason: 'max_tokens' }],
      { kind: 'completed', stopReason: 'max_tokens' },
    ],
    ['a refusal', [{ step: 'refuse' }], { kind: 'refused', stopReason: 'refusal' }],
    [
      'its own cancel',
      [{ step: 'end', stopReason: 'cancelled' }],
      { kind: 'cancelled', stopReason: 'cancelled' },
    ],
    ['a signal', [{ step: 'crash', signal: 'SIGKILL' }], { kind: 'failed', stopReason: 'agent_exited' }],
  ];
  it.each(ENDS)('ends a turn by %s, once, and keeps that [SURVIVAL-004.1]', async (_name, steps, outcome) => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, ...steps);
    await instance.untilIt('the turn to end', turnEnded);
    expect((await instance.turns()).retained).toMatchObject([{ outcome }]);
  });

  it('cancels a turn', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'silence' });
    const { instanceId } = instance;
    expect(await owned.client.call('cancel', { instanceId, turnId: 'another' })).toEqual({
      cancelling: false,
    });
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: true });
    await instance.untilIt('the turn to end', turnEnded);
    expect((await instance.turns()).retained).toMatchObject([
      { turnId, outcome: { kind: 'cancelled', stopReason: 'cancelled' } },
    ]);
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: false });
  });

  it('ends a turn whose cancel is not answered, once, and drops the late answer', async () => {
    await using owned = await ownedServer(accelerated(60));
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'say', text: 'busy' },
      { step: 'waitFor', file: 'go' },
      { step: 'say', text: 'late' },
    );
    await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes('busy'));
    await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
    const events = await readUntil(stream, isType('turn_ended'));
    const outcome = { kind: 'cancelled', stopReason: 'cancel_unanswered' };
    expect(events.at(-1)?.event).toMatchObject({ turnId, outcome });
    await writeFile(owned.home.path('workspace', 'go'), '');
    await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes('late'));
    await instance.prompt(2, { step: 'say', text: 'next' });
    const rest = await readUntil(stream, isType('turn_ended'));
    expect(rest.filter(isType('turn_ended'))).toHaveLength(1);
    expect((await instance.turns()).retained).toMatchObject([{ turnId, outcome }, { promptGeneration: 2 }]);
  });

  it('cancels a turn whose start still waits for room, without asking the agent', async () => {
    await using owned = await ownedServer({
      settings: { unownedPeriodMs: 600_000, detachedEventLimit: 3, idleTimeoutMs: 0 },
    });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'say', text: 'first' });
    await instance.untilIt('the turn to end', turnEnded);
    const turnId = await instance.prompt(2, { step: 'say', text: 'never' });
    const { instanceId } = instance;
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: true });
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, ({ seq }) => seq === 5);
    expect(events.slice(3).map(({ event }) => event)).toMatchObject([
      { type: 'turn_started', turnId },
      { type: 'turn_ended', turnId, outcome: { kind: 'cancelled' } },
    ]);
    expect(textsOf(events)).toEqual(['first']);
  });

  it('has nothing left to cancel once the agent has answered, although the end still waits for room', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 3 } });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'chunks', count: 2 });
    await instance.untilIt('the end of the turn to wait', ({ journal }) => journal.paused);
    expect(await instance.turns()).toMatchObject({ active: { turnId }, retained: [] });
    const { instanceId } = instance;
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: false });
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toMatchObject({ outcome: { kind: 'completed' } });
  });

  it('answers a prompt before the turn ends, and puts turn_started before its updates', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'say', text: 'a' }, { step: 'waitFor', file: 'go' });
    expect((await instance.turns()).active).toMatchObject({ promptGeneration: 1 });
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('session_update'));
    expect(events.map(({ event }) => event.type)).toEqual(['turn_started', 'session_update']);
  });

  it('retains the outcome of a turn whose agent was stopped', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'silence' });
    await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    expect(await instance.describe()).toMatchObject({ status: 'idle', agentPid: null, activeTurnId: null });
    expect((await instance.turns()).retained).toMatchObject([{ turnId, outcome: { kind: 'cancelled' } }]);
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.at(-1)?.event).toMatchObject({ expected: true });
    await instance.start();
    expect((await instance.describe()).status).toBe('ready');
  });

  it('takes acknowledgements in any order, again, of unknown turns and of another server’s [SURVIVAL-004.6]', async () => {
    await using earlier = await ownedServer();
    const before = await InstanceOf.create(earlier);
    await before.start();
    const ofEarlier = await before.prompt(1, { step: 'say', text: 'x' });

    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const other = await InstanceOf.create(owned);
    await Promise.all([instance.start(), other.start()]);
    const ids: string[] = [];
    const others: string[] = [];
    for (const generation of [1, 2, 3, 4]) {
      ids.push(await instance.prompt(generation, { step: 'say', text: 'x' }));
      others.push(await other.prompt(generation, { step: 'say', text: 'x' }));
      await instance.untilIt('the turn to end', turnEnded);
      await other.untilIt('the turn to end', turnEnded);
    }
    // A turn id is given out once in the life of a server, whatever the instance, and by no other server.
    expect(new Set([...ids, ...others, ofEarlier]).size).toBe(9);
    const left = async (): Promise<string[]> => (await instance.turns()).retained.map(({ turnId }) => turnId);
    const [first = '', second = '', third = '', fourth = ''] = ids;
    const steps: ReadonlyArray<readonly [string, string[]]> = [
      [third, [first, second, fourth]],
      [third, [first, second, fourth]],
      [ofEarlier, [first, second, fourth]],
      [others[0] ?? '', [first, second, fourth]],
      ['never-heard-of', [first, second, fourth]],
      [first, [second, fourth]],
      [fourth, [second]],
      [second, []],
    ];
    for (const [turnId, rest] of steps) {
      await owned.client.call('acknowledgeTurn', { instanceId: instance.instanceId, turnId });
      expect(await left()).toEqual(rest);
    }
    expect((await other.turns()).retained).toHaveLength(4);
  });

  it('believes an agent that ends its turn in its own way although it was cancelled', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'say', text: 'busy' },
      { step: 'waitFor', file: 'go' },
      { step: 'say', text: 'done all the same' },
    );
    await readUntil(stream, isType('session_update'));
    const { instanceId } = instance;
    for (const cancelling of [true, true]) {
      expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling });
    }
    await writeFile(owned.home.path('workspace', 'go'), '');
    const events = await readUntil(stream, isType('turn_ended'));
    expect(textsOf(events)).toEqual(['done all the same']);
    expect(events.at(-1)?.event).toMatchObject({
      turnId,
      outcome: { kind: 'completed', stopReason: 'end_turn' },
    });
    expect((await instance.turns()).retained).toHaveLength(1);
  });

  it('delivers what comes after the answer to a prompt, behind the end of its turn', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'say', text: 'first' }, { step: 'late', afterMs: 0, text: 'straggler' });
    const events = await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes('straggler'));
    expect(events.map(({ event }) => event.type)).toEqual([
      'turn_started',
      'session_update',
      'turn_ended',
      'session_update',
    ]);
  });
});
