import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import type { EventStream } from '@holdfast/control-protocol/client';
import { until } from '@holdfast/testbeds';
import { SETTLING_MS } from '../../src/turns/work-watch.ts';
import { ManualClock } from '../support/manual-clock.ts';
import {
  InstanceOf,
  SETTINGS,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
  type Steps,
} from '../support/owned-server.ts';

type Server = OwnedServer & { readonly clock: ManualClock };

/** A server on whose clock no time passes unless the test says so: an agent is silent for as long as the test wants. */
async function stillServer(settings: Partial<typeof SETTINGS> = {}): Promise<Server> {
  const clock = new ManualClock();
  return { ...(await ownedServer({ clock, settings: { ...SETTINGS, ...settings } })), clock };
}

/** An instance whose agent has answered its first prompt and works on its own later, once the file `wake` is there. */
async function sleeper(
  owned: Server,
  steps: Steps,
  facts: { readonly saysIdle?: boolean; readonly before?: Steps } = {},
): Promise<InstanceOf> {
  const instance = await InstanceOf.create(owned);
  await instance.start();
  const { saysIdle = false, before = [{ step: 'say', text: 'prompted' } as const] } = facts;
  await instance.prompt(1, ...before, {
    step: 'afterwards',
    saysIdle,
    steps: [{ step: 'waitFor', file: 'wake' }, ...steps],
  });
  await instance.untilIt('the prompt to be answered', ({ activeTurnId }) => activeTurnId === null);
  return instance;
}

async function touch(owned: Server, file: string): Promise<void> {
  await writeFile(owned.home.path('workspace', file), '');
}

/** Time passes in which the agent says nothing, and then it wakes up. */
async function wake(owned: Server): Promise<void> {
  owned.clock.advance(SETTLING_MS);
  await touch(owned, 'wake');
}

async function untilSaid(stream: EventStream, text: string) {
  return await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes(text));
}

describe('a turn without a prompt', () => {
  it('begins before the first update of the agent’s own work and ends when the agent says so [GENERATION-07]', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(
      owned,
      [
        { step: 'say', text: 'awake' },
        { step: 'toolCall', title: 'look' },
        { step: 'waitFor', file: 'rest' },
      ],
      { saysIdle: true },
    );
    const { retained } = await instance.turns();
    await using stream = await instance.attach(3);
    await wake(owned);
    const begun = await untilSaid(stream, 'awake');
    expect(begun.slice(0, 2).map(({ seq, event }) => [seq, event.type])).toEqual([
      [4, 'turn_started'],
      [5, 'session_update'],
    ]);
    const turnId = (await instance.describe()).activeTurnId;
    expect(begun[0]?.event).toEqual({ type: 'turn_started', turnId, promptGeneration: 0 });
    expect((await instance.describe()).status).toBe('running');
    expect(await instance.turns()).toMatchObject({
      active: { turnId, promptGeneration: 0, startedAt: expect.any(String) },
      retained,
      lastPromptGeneration: 1,
    });

    await touch(owned, 'rest');
    const rest = await readUntil(stream, isType('turn_ended'));
    expect(rest.slice(-2).map(({ event }) => event)).toMatchObject([
      { type: 'session_update', update: { sessionUpdate: 'state_update', state: 'idle' } },
      {
        type: 'turn_ended',
        turnId,
        promptGeneration: 0,
        outcome: { kind: 'completed', stopReason: 'end_turn' },
      },
    ]);
    // The journal alone carries its end: nothing is retained, and nothing has to be acknowledged.
    expect(await instance.turns()).toEqual({ active: null, retained, lastPromptGeneration: 1 });
    expect((await instance.describe()).status).toBe('ready');
  });

  it('is ended by the next prompt, which it does not block [GENERATION-07]', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [{ step: 'say', text: 'awake' }]);
    await using stream = await instance.attach(3);
    await wake(owned);
    await untilSaid(stream, 'awake');
    const own = (await instance.describe()).activeTurnId;
    const turnId = await instance.prompt(2, { step: 'say', text: 'second' });
    const events = await readUntil(stream, ({ seq, event }) => seq > 6 && event.type === 'turn_ended');
    expect(events.map(({ event }) => event)).toMatchObject([
      {
        type: 'turn_ended',
        turnId: own,
        promptGeneration: 0,
        outcome: { kind: 'completed', stopReason: 'next_prompt' },
      },
      { type: 'turn_started', turnId, promptGeneration: 2 },
      { type: 'session_update' },
      { type: 'turn_ended', turnId, promptGeneration: 2 },
    ]);
    const { retained } = await instance.turns();
    expect(retained.map(({ promptGeneration }) => promptGeneration)).toEqual([1, 2]);
  });

  it('keeps its place in a journal without room, before the prompt that ends it', async () => {
    await using owned = await stillServer({ detachedEventLimit: 4 });
    const instance = await sleeper(owned, [
      { step: 'say', text: 'awake' },
      { step: 'say', text: 'still' },
    ]);
    await wake(owned);
    await instance.untilIt('the update to wait behind its turn', ({ journal }) => journal.paused);
    expect(await instance.turns()).toMatchObject({ active: { promptGeneration: 0 } });
    const turnId = await instance.prompt(2, { step: 'say', text: 'second' });
    expect(await instance.turns()).toMatchObject({ active: { turnId, promptGeneration: 2 } });
    await using stream = await instance.attach(0);
    const events = await readUntil(
      stream,
      ({ event }) => event.type === 'turn_ended' && event['turnId'] === turnId,
    );
    expect(events.slice(3, 7).map(({ event }) => [event.type, event['promptGeneration']])).toEqual([
      ['turn_started', 0],
      ['session_update', undefined],
      ['turn_ended', 0],
      ['turn_started', 2],
    ]);
    expect(textsOf(events).toSorted()).toEqual(['awake', 'prompted', 'second', 'still']);
  });

  it('fails with an agent that exits, before its exit is told', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [
      { step: 'say', text: 'awake' },
      { step: 'crash', exitCode: 7 },
    ]);
    await using stream = await instance.attach(3);
    await wake(owned);
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.slice(-2).map(({ event }) => event)).toMatchObject([
      { type: 'turn_ended', promptGeneration: 0, outcome: { kind: 'failed', stopReason: 'agent_exited' } },
      { type: 'agent_exited', code: 7 },
    ]);
    expect((await instance.turns()).active).toBeNull();
  });

  it('is cancelled with an agent that is stopped', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [{ step: 'say', text: 'awake' }, { step: 'silence' }]);
    await using stream = await instance.attach(3);
    await wake(owned);
    await untilSaid(stream, 'awake');
    const { instanceId } = instance;
    await owned.clock.runWhile(owned.client.call('stopAgent', { instanceId }));
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.map(({ event }) => event)).toMatchObject([
      {
        type: 'turn_ended',
        promptGeneration: 0,
        outcome: { kind: 'cancelled', stopReason: 'agent_stopped' },
      },
      { type: 'agent_exited', expected: true },
    ]);
    expect(await instance.turns()).toMatchObject({ active: null, retained: [{ promptGeneration: 1 }] });
  });

  it('is released with its instance, wherever it waits [SURVIVAL-001.10]', async () => {
    await using owned = await stillServer({ detachedEventLimit: 3 });
    const instance = await sleeper(owned, [{ step: 'say', text: 'awake' }]);
    await wake(owned);
    await instance.untilIt('its start to wait', ({ journal }) => journal.paused);
    expect((await instance.describe()).journal).toMatchObject({ nextSeq: 4 });
    const { instanceId } = instance;
    await owned.clock.runWhile(owned.client.call('deleteInstance', { instanceId }));
    await expect(instance.describe()).rejects.toMatchObject({ code: 'instance_not_found' });
  });

  it('is cancelled by the agent when that says so', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [{ step: 'say', text: 'awake' }, { step: 'silence' }], {
      saysIdle: true,
    });
    await using stream = await instance.attach(3);
    await wake(owned);
    await untilSaid(stream, 'awake');
    const turnId = (await instance.describe()).activeTurnId ?? '';
    const { instanceId } = instance;
    expect(await owned.client.call('cancel', { instanceId, turnId: 'another' })).toEqual({
      cancelling: false,
    });
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: true });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toMatchObject({
      turnId,
      outcome: { kind: 'cancelled', stopReason: 'cancelled' },
    });
    expect(await owned.client.call('cancel', { instanceId, turnId })).toEqual({ cancelling: false });
  });

  it('is cancelled after 30 s when the agent does not say so', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [{ step: 'say', text: 'awake' }, { step: 'silence' }]);
    await using stream = await instance.attach(3);
    await wake(owned);
    await untilSaid(stream, 'awake');
    const turnId = (await instance.describe()).activeTurnId ?? '';
    await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
    owned.clock.advance(29_999);
    expect((await instance.turns()).active).toMatchObject({ turnId });
    owned.clock.advance(1);
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toMatchObject({
      turnId,
      outcome: { kind: 'cancelled', stopReason: 'cancel_unanswered' },
    });
    // A cancel that was asked for is what the next prompt would have found as well.
    expect((await instance.turns()).active).toBeNull();
  });

  it('is not begun by what is left of a prompt, nor by facts about the session', async () => {
    await using owned = await stillServer();
    const update = (sessionUpdate: string, facts: object = {}) =>
      ({ step: 'unknownUpdate', update: { sessionUpdate, ...facts } }) as const;
    const instance = await sleeper(
      owned,
      [
        update('tool_call_update', { toolCallId: 'call-1', status: 'completed' }),
        update('agent_message_chunk', { messageId: 'm1', content: { type: 'text', text: 'more of it' } }),
        update('available_commands_update', { availableCommands: [] }),
        update('current_mode_update', { currentModeId: 'auto' }),
        update('config_option_update', { configOptions: [] }),
        update('session_info_update', { title: 'a title' }),
        update('usage_update', { used: 1, size: 2 }),
        update('from_the_future'),
        update('state_update', { state: 'idle', stopReason: 'end_turn' }),
        { step: 'touch', file: 'all-told' },
        { step: 'waitFor', file: 'go-on' },
        { step: 'say', text: 'at last' },
      ],
      {
        before: [
          { step: 'toolCall', title: 'in the background', statuses: ['in_progress'] },
          update('agent_message_chunk', { messageId: 'm1', content: { type: 'text', text: 'some of it' } }),
          // It comes right after the answer.
          { step: 'late', afterMs: 0, text: 'straggler' },
        ],
      },
    );
    await using stream = await instance.attach(0);
    await untilSaid(stream, 'straggler');
    expect((await instance.turns()).active).toBeNull();
    await wake(owned);
    await until(() => existsSync(owned.home.path('workspace', 'all-told')), {
      reason: 'all of it to be told',
      withinMs: 60_000,
    });
    await touch(owned, 'go-on');
    const events = await untilSaid(stream, 'at last');
    const others = events.flatMap(({ event }) => (event.type === 'session_update' ? [] : [event.type]));
    expect(others).toEqual(['session_config', 'context_window', 'turn_started']);
    expect(events.at(-2)?.event).toMatchObject({ type: 'turn_started', promptGeneration: 0 });
  });

  it('is not begun by an agent that goes on with a prompt whose cancel it did not answer', async () => {
    await using owned = await stillServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'say', text: 'busy' },
      { step: 'waitFor', file: 'go' },
      { step: 'say', text: 'late' },
      { step: 'waitFor', file: 'answer' },
      {
        step: 'afterwards',
        steps: [
          { step: 'unknownUpdate', update: { sessionUpdate: 'session_info_update', title: 'answered' } },
          { step: 'waitFor', file: 'wake' },
          { step: 'say', text: 'awake' },
        ],
      },
    );
    await untilSaid(stream, 'busy');
    await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
    owned.clock.advance(30_000);
    await readUntil(stream, isType('turn_ended'));
    owned.clock.advance(SETTLING_MS);
    await touch(owned, 'go');
    expect((await untilSaid(stream, 'late')).map(({ event }) => event.type)).toEqual(['session_update']);
    expect((await instance.turns()).active).toBeNull();
    await touch(owned, 'answer');
    // Only its answer makes what comes after a silence its own work.
    await readUntil(stream, isType('session_update'));
    await wake(owned);
    const events = await untilSaid(stream, 'awake');
    expect(events.map(({ event }) => event.type)).toEqual(['turn_started', 'session_update']);
  });

  it('is not begun by the history that a load replays', async () => {
    await using owned = await stillServer();
    const instance = await InstanceOf.create(owned);
    const { session } = await instance.start();
    await instance.prompt(1, { step: 'say', text: 'long ago' }, { step: 'toolCall', title: 'once' });
    await instance.untilIt('the prompt to be answered', ({ activeTurnId }) => activeTurnId === null);
    const { instanceId } = instance;
    await owned.clock.runWhile(owned.client.call('stopAgent', { instanceId }));
    const { nextSeq } = (await instance.describe()).journal;
    const { providerSessionId } = session;
    await owned.clock.runWhile(instance.start({ session: { kind: 'load', providerSessionId } }));
    expect(await instance.describe()).toMatchObject({ activeTurnId: null, journal: { nextSeq } });
  });

  it('is what a permission request outside of a prompt belongs to', async () => {
    await using owned = await stillServer();
    const instance = await sleeper(owned, [{ step: 'permission', title: 'on my own' }]);
    await using stream = await instance.attach(3);
    await wake(owned);
    const events = await readUntil(stream, isType('permission_requested'));
    const turnId = (await instance.describe()).activeTurnId ?? '';
    expect(events.map(({ event }) => event)).toMatchObject([
      { type: 'turn_started', turnId, promptGeneration: 0 },
      { type: 'permission_requested', permission: { turnId } },
    ]);
    await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
    const rest = await untilSaid(stream, 'permission: cancelled');
    expect(rest[0]?.event).toMatchObject({ type: 'permission_cancelled', reason: 'turn_cancelled' });
  });

  it('does not keep an instance from being reaped, but what the agent says does for a while', async () => {
    await using owned = await stillServer({ unownedPeriodMs: 60_000, idleTimeoutMs: 130_000 });
    const instance = await sleeper(owned, [
      { step: 'say', text: 'awake' },
      { step: 'waitFor', file: 'more' },
      { step: 'say', text: 'more' },
    ]);
    const look = async () => {
      // A look at the instance itself would be a use of it.
      await owned.client.call('claim', {});
      return (await owned.client.call('listInstances', {})).instances[0];
    };
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 20_000) {
        owned.clock.advance(Math.min(left, 20_000));
        await look();
      }
    };
    await wake(owned);
    await until(async () => (await look())?.activeTurnId !== null, {
      reason: 'the agent to work on its own',
      withinMs: 60_000,
    });
    await pass(100_000);
    const before = (await look())?.journal.nextSeq;
    await touch(owned, 'more');
    await until(async () => (await look())?.journal.nextSeq !== before, {
      reason: 'the agent to say more',
      withinMs: 60_000,
    });
    await pass(100_000);
    expect(await look()).toMatchObject({ instanceId: instance.instanceId, activeTurnId: expect.any(String) });
    await pass(100_000);
    await until(
      async () => {
        owned.clock.advance(20);
        return (await look()) === undefined;
      },
      { reason: 'the instance to be stopped', withinMs: 60_000 },
    );
  });
});
