import { describe, expect, it } from '@jest/globals';
import { SESSION_CHANGE_LIMIT_MS } from '@holdfast/control-protocol';
import type { EventStream } from '@holdfast/control-protocol/client';
import { startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import {
  InstanceOf,
  SETTINGS,
  accelerated,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';

const LARGE = { modelId: 'large', name: 'The large one' };
const SMALL = { modelId: 'small', name: 'The small one' };

async function running(owned: OwnedServer, behaviour: StartBehaviour): Promise<InstanceOf> {
  const instance = await InstanceOf.create(owned, { environment: startBehaviour(behaviour) });
  await instance.start();
  return instance;
}

/** What is chosen in the session, in the agent's own words; `events` are those before them. */
async function chosen(instance: InstanceOf, stream: EventStream, promptGeneration: number) {
  await instance.prompt(promptGeneration, { step: 'choices' });
  const events = await readUntil(stream, isType('turn_ended'));
  const [text = ''] = textsOf(events);
  const before = events.map(({ event }) => event);
  return {
    said: JSON.parse(text.replace('choices: ', '')) as unknown,
    events: before.slice(
      0,
      before.findIndex(({ type }) => type === 'turn_started'),
    ),
  };
}

describe('a session', () => {
  it('gets the mode that is set', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, {});
    const { instanceId } = instance;
    expect(await owned.client.call('setSessionMode', { instanceId, modeId: 'auto' })).toEqual({});
    await using stream = await instance.attach(0);
    expect(await chosen(instance, stream, 1)).toEqual({ said: { opened: 'new', mode: 'auto' }, events: [] });
  });

  it('gets the model that is set, and tells of it with the offered ones', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, { models: 'list' });
    const { instanceId } = instance;
    await owned.client.call('setSessionModel', { instanceId, modelId: 'large' });
    expect((await instance.describe()).journal.nextSeq).toBe(2); // before the answer
    await using stream = await instance.attach(0);
    const { said, events } = await chosen(instance, stream, 1);
    expect(said).toMatchObject({ model: 'large' });
    expect(events).toEqual([
      { type: 'session_model', currentModelId: 'large', availableModels: [SMALL, LARGE] },
    ]);
  });

  it('gets the model as an option where the agent has it as one', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, { models: 'option' });
    const { instanceId } = instance;
    await owned.client.call('setSessionModel', { instanceId, modelId: 'large' });
    await using stream = await instance.attach(0);
    const { said, events } = await chosen(instance, stream, 1);
    expect(said).toMatchObject({ model: 'large' });
    expect(events).toMatchObject([
      { type: 'session_config_changed', optionId: 'model', value: 'large' },
      { type: 'session_config', options: [{ id: 'model', currentValue: 'large' }] },
      {
        type: 'session_model',
        currentModelId: 'large',
        availableModels: [{ value: 'small' }, { value: 'large' }],
      },
    ]);
  });

  it('gets options that are set, and tells of all that the agent has confirmed', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, { configOptions: true });
    const { instanceId } = instance;
    await owned.client.call('setSessionConfigOption', { instanceId, optionId: 'effort', value: 'high' });
    await owned.client.call('setSessionConfigOption', { instanceId, optionId: 'verbose', value: true });
    await using stream = await instance.attach(0);
    const { said, events } = await chosen(instance, stream, 1);
    expect(said).toMatchObject({ effort: 'high', verbose: true });
    expect(events).toMatchObject([
      { type: 'session_config_changed', optionId: 'effort', value: 'high' },
      { type: 'session_config', options: [{ id: 'effort', currentValue: 'high' }, { currentValue: false }] },
      { type: 'session_config_changed', optionId: 'verbose', value: true },
      { type: 'session_config', options: [{ id: 'effort', currentValue: 'high' }, { currentValue: true }] },
    ]);
  });

  it('tells when the agent changes options, model or context by itself, beside its own words', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, { models: 'option' });
    const options = [
      {
        id: 'model',
        category: 'model',
        type: 'select',
        currentValue: 'large',
        options: [{ group: 'g', options: [{ value: 'large' }] }],
      },
    ];
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      { step: 'unknownUpdate', update: { sessionUpdate: 'config_option_update', configOptions: options } },
      {
        step: 'unknownUpdate',
        update: { sessionUpdate: 'usage_update', used: 5, size: 9, cost: { amount: 1 } },
      },
    );
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.slice(1, -1).map(({ event }) => event)).toEqual([
      { type: 'session_update', update: { sessionUpdate: 'config_option_update', configOptions: options } },
      { type: 'session_config', options },
      { type: 'session_model', currentModelId: 'large', availableModels: [{ value: 'large' }] },
      {
        type: 'session_update',
        update: { sessionUpdate: 'usage_update', used: 5, size: 9, cost: { amount: 1 } },
      },
      { type: 'context_window', size: 9, used: 5 },
    ]);
  });

  it('gets what was chosen before set again by a start, in the order in which it was', async () => {
    await using owned = await ownedServer();
    const environment = startBehaviour({ models: 'option', configOptions: true });
    const instance = await InstanceOf.create(owned, { environment });
    const { session } = await instance.start({ modeId: 'auto', modelId: 'small' });
    await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    await using stream = await instance.attach(0);
    await readUntil(stream, isType('agent_exited'));
    await instance.start({
      session: { kind: 'load', providerSessionId: session.providerSessionId },
      modeId: 'ask',
      choices: [
        { kind: 'config_option', optionId: 'model', value: 'small' },
        { kind: 'mode', modeId: 'auto' },
        { kind: 'model', modelId: 'large' },
        { kind: 'config_option', optionId: 'verbose', value: true },
      ],
    });
    expect((await chosen(instance, stream, 1)).said).toEqual({
      opened: 'load',
      mode: 'auto',
      model: 'large',
      effort: 'low',
      verbose: true,
    });
  });

  it('does not start where one of them is refused', async () => {
    await using owned = await ownedServer();
    const environment = startBehaviour({ configOptions: true });
    const instance = await InstanceOf.create(owned, { environment });
    const choices = [{ kind: 'config_option', optionId: 'effort', value: 'extreme' } as const];
    await expect(instance.start({ choices })).rejects.toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'config_option', agentError: { code: -32_602 } },
    });
    expect((await instance.describe()).status).toBe('idle');
  });
});

describe('what an agent does not take', () => {
  it('is refused with its own words, and changes nothing', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, { models: 'list', configOptions: true });
    const { instanceId } = instance;
    const { client } = owned;
    await expect(client.call('setSessionMode', { instanceId, modeId: 'wild' })).rejects.toMatchObject({
      code: 'agent_protocol_error',
      message: 'The agent refused the mode: The field "modeId" must be "ask" or "auto".',
      details: { method: 'session/set_mode', agentError: { code: -32_602 } },
    });
    await expect(client.call('setSessionModel', { instanceId, modelId: 'huge' })).rejects.toMatchObject({
      code: 'agent_protocol_error',
      details: { method: 'session/set_model' },
    });
    const option = { instanceId, optionId: 'colour', value: 'red' };
    await expect(client.call('setSessionConfigOption', option)).rejects.toThrow(
      'refused the configuration option',
    );
    expect((await instance.describe()).journal.nextSeq).toBe(1);
  });

  it('is told by the name of the method that it does not know', async () => {
    await using owned = await ownedServer();
    const instance = await running(owned, {});
    const { instanceId } = instance;
    await expect(owned.client.call('setSessionModel', { instanceId, modelId: 'any' })).rejects.toMatchObject({
      code: 'agent_protocol_error',
      message: 'The agent does not know session/set_model: its model cannot be set.',
    });
    await expect(
      owned.client.call('setSessionConfigOption', { instanceId, optionId: 'any', value: true }),
    ).rejects.toThrow('does not know session/set_config_option');
  });

  it('has a limit, after which nothing is known', async () => {
    await using owned = await ownedServer({ ...accelerated(100), stopGraceMs: 100_000 });
    const instance = await running(owned, { silentOn: 'session/set_mode' });
    await expect(
      owned.client.call('setSessionMode', { instanceId: instance.instanceId, modeId: 'auto' }),
    ).rejects.toMatchObject({
      code: 'agent_timeout',
      message: `The agent did not confirm the mode within ${String(SESSION_CHANGE_LIMIT_MS)} ms; whether it is set is not known.`,
    });
    expect((await instance.describe()).status).toBe('ready');
  });

  it('needs an agent', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const { instanceId } = instance;
    await expect(owned.client.call('setSessionMode', { instanceId, modeId: 'x' })).rejects.toMatchObject({
      code: 'agent_not_running',
    });
    await expect(owned.client.call('setSessionMode', { instanceId, modeId: '' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(
      owned.client.call('setSessionMode', { instanceId: 'no', modeId: 'x' }),
    ).rejects.toMatchObject({
      code: 'instance_not_found',
    });
  });
});

describe('a choice while the journal is full', () => {
  const FULL_AT_ONE = { ...SETTINGS, detachedEventLimit: 1 };

  it('is answered once the agent has confirmed it, and told when there is room again', async () => {
    await using owned = await ownedServer({ settings: FULL_AT_ONE });
    const instance = await running(owned, { models: 'option' });
    const { instanceId } = instance;
    await owned.client.call('setSessionModel', { instanceId, modelId: 'large' });
    expect((await instance.describe()).journal).toEqual({ nextSeq: 2, unacknowledged: 1, paused: true });
    await using stream = await instance.attach(0);
    expect((await chosen(instance, stream, 1)).events.map(({ type }) => type)).toEqual([
      'session_config_changed',
      'session_config',
      'session_model',
    ]);
  });

  it('leaves none of what the agent tells out either', async () => {
    await using owned = await ownedServer({ settings: FULL_AT_ONE });
    const instance = await running(owned, {});
    const usage = (used: number) => ({ step: 'usage', used, size: 9 }) as const;
    await instance.prompt(1, usage(1), usage(2), usage(3));
    await instance.untilIt('the producer to be paused', ({ journal }) => journal.paused);
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.filter(isType('context_window')).map(({ event }) => event['used'])).toEqual([1, 2, 3]);
    expect(events.filter(isType('session_update'))).toHaveLength(3);
  });

  it.each(['stopAgent', 'deleteInstance', 'shutdown'] as const)(
    'that stands behind output which nobody reads ends with %s [CONTRACT-12, CONTRACT-13]',
    async (stop) => {
      await using owned = await ownedServer({ settings: FULL_AT_ONE });
      const instance = await running(owned, {});
      const { instanceId } = instance;
      await instance.prompt(1, { step: 'chunks', count: 5 }, { step: 'silence' });
      await instance.untilIt('the producer to be paused', ({ journal }) => journal.paused);
      const choice = owned.client
        .call('setSessionMode', { instanceId, modeId: 'auto' })
        .catch((error: unknown) => error);
      await owned.client.call(stop, { instanceId });
      // It did get the choice and its answer may be read at the end; what matters is that nobody waits for ever.
      expect([undefined, 'agent_not_running']).toContain(codeOf(await choice));
    },
  );
});

function codeOf(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'code' in answer ? answer.code : undefined;
}
