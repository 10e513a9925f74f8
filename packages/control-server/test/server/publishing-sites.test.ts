import { describe, expect, it } from '@jest/globals';
import { signalProcess } from '@holdfast/testbeds';
import type { CoveredEvent } from '@holdfast/control-protocol';
import { startBehaviour } from '@holdfast/scripted-agent';
import {
  InstanceOf,
  SETTINGS,
  ownedServer,
  readUntil,
  type OwnedServer,
  type Steps,
} from '../support/owned-server.ts';

/** Detached, a journal is full with so many events; the next one is of the class in question. */
const LIMIT = 4;

/** Brings an instance, whose agent has started, to where its fifth event is of a class; resolves at any time before that. */
type Site = (instance: InstanceOf, owned: OwnedServer) => Promise<void>;

const prompts =
  (...steps: Steps): Site =>
  async (instance) => {
    await instance.prompt(1, ...steps);
  };
const chunks = (count: number) => ({ step: 'chunks', count }) as const;
const turnOver = async (instance: InstanceOf): Promise<void> => {
  await instance.untilIt('the turn to end', ({ activeTurnId }) => activeTurnId === null);
};

/** A turn, then a model is chosen. */
const choosesModel: Site = async (instance, { client }) => {
  await instance.prompt(1, chunks(LIMIT - 2));
  await turnOver(instance);
  await client.call('setSessionModel', { instanceId: instance.instanceId, modelId: 'large' });
};

/** How the agent offers models, where that matters. */
const MODELS: { readonly [Type in CoveredEvent['type']]?: 'list' | 'option' } = {
  session_model: 'list',
  session_config_changed: 'option',
};

/** Where the product publishes each class. A class without a row does not compile. */
const SITES: { readonly [Type in CoveredEvent['type']]: Site } = {
  session_model: choosesModel,
  session_config_changed: choosesModel,
  session_update: prompts(chunks(4)),
  turn_started: async (instance) => {
    await instance.prompt(1, chunks(2));
    await turnOver(instance);
    await instance.prompt(2, chunks(1));
  },
  turn_ended: prompts(chunks(3)),
  // A line that is too long.
  agent_error: prompts(chunks(3), { step: 'chunks', count: 1, bytes: 17_000_000 }),
  agent_exited: async (instance) => {
    await instance.prompt(1, chunks(2));
    await turnOver(instance);
    signalProcess((await instance.describe()).agentPid, 'SIGKILL');
  },
  permission_requested: prompts(chunks(3), { step: 'permission', title: 'x' }),
  permission_cancelled: async (instance, { client }) => {
    const turnId = await instance.prompt(1, chunks(2), { step: 'permission', title: 'x' });
    await instance.untilIt('the request to be announced', ({ journal }) => journal.nextSeq === LIMIT + 1);
    await client.call('cancel', { instanceId: instance.instanceId, turnId });
  },
  context_window: prompts(chunks(2), { step: 'usage', used: 1, size: 2 }),
  session_config: prompts(chunks(2), {
    step: 'unknownUpdate',
    update: {
      sessionUpdate: 'config_option_update',
      configOptions: [
        {
          id: 'effort',
          name: 'Effort',
          type: 'select',
          currentValue: 'low',
          options: [{ value: 'low', name: 'Low' }],
        },
      ],
    },
  }),
};

/** An instance that waits for room for an event of the class. */
async function waitingAt(owned: OwnedServer, type: string, site: Site): Promise<InstanceOf> {
  const models = new Map(Object.entries(MODELS)).get(type);
  const instance = await InstanceOf.create(owned, {
    environment: startBehaviour(models === undefined ? {} : { models }),
  });
  await instance.start();
  await site(instance, owned);
  await instance.untilIt('the event to wait', ({ journal }) => journal.paused);
  expect((await instance.describe()).journal).toEqual({
    nextSeq: LIMIT + 1,
    unacknowledged: LIMIT,
    paused: true,
  });
  return instance;
}

const fullServer = async () => await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: LIMIT } });

describe.each(Object.entries(SITES))('an event of class %s, for which there is no room', (type, site) => {
  it('waits while nobody is attached, and is delivered in its place on attach [SURVIVAL-001.5] [SURVIVAL-001.6]', async () => {
    await using owned = await fullServer();
    const instance = await waitingAt(owned, type, site);
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, ({ seq }) => seq > LIMIT);
    expect(events[LIMIT]?.event.type).toBe(type);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  it('does not hold up the stop of its instance [SURVIVAL-001.10] [CONTRACT-12]', async () => {
    await using owned = await fullServer();
    const { client, instanceId } = await waitingAt(owned, type, site);
    expect(await client.call('deleteInstance', { instanceId })).toEqual({ stopped: true });
    expect((await client.call('listInstances', {})).instances).toEqual([]);
  });
});

describe('a producer that waits', () => {
  it('of whatever class, does not hold up the end of the server [CONTRACT-13]', async () => {
    await using owned = await fullServer();
    await Promise.all(Object.entries(SITES).map(async ([type, site]) => await waitingAt(owned, type, site)));
    await owned.server.stop();
    expect(await owned.server.ended).toEqual({ why: 'stopped' });
  });

  it('with the exit that a stop of the agent itself asked for does not hold up the stop of its instance [SURVIVAL-001.10]', async () => {
    await using owned = await fullServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, chunks(2));
    await turnOver(instance);
    const { client, instanceId } = instance;
    await client.call('stopAgent', { instanceId });
    await instance.untilIt('the exit to wait', ({ journal }) => journal.paused);
    await client.call('deleteInstance', { instanceId });
    await expect(instance.describe()).rejects.toMatchObject({ code: 'instance_not_found' });
  });
});
