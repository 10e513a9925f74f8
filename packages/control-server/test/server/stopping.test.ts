import { describe, expect, it } from '@jest/globals';
import { STREAM_CLOSE } from '@holdfast/control-protocol';
import { scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import { processIsAlive, until, waitForExit } from '@holdfast/testbeds';
import { ManualClock, fastClock } from '../support/manual-clock.ts';
import {
  InstanceOf,
  SETTINGS,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';

const SLEEP = ['sleep', '600'];

/** An agent that ignores SIGTERM, with a child in its own group and one in a session of its own. */
async function stubbornFamily(owned: OwnedServer): Promise<{ instance: InstanceOf; pids: number[] }> {
  const instance = await InstanceOf.create(owned);
  const { agentPid } = await instance.start();
  const stream = await instance.attach(0);
  await instance.prompt(
    1,
    { step: 'ignoreSigterm' },
    { step: 'ignoreCancel' },
    { step: 'child', command: SLEEP },
    { step: 'child', command: SLEEP, ownSession: true },
    { step: 'say', text: 'ready' },
    { step: 'waitFor', file: 'never' },
  );
  const texts = textsOf(
    await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes('ready')),
  );
  await stream.close();
  const children = texts.flatMap((text) => /^child: (\d+)$/.exec(text)?.[1] ?? []).map(Number);
  expect(children).toHaveLength(2);
  return { instance, pids: [agentPid, ...children] };
}

describe('stopping', () => {
  it('ends an agent that ignores SIGTERM and all it started, wherever that is', async () => {
    await using owned = await ownedServer();
    const { instance, pids } = await stubbornFamily(owned);
    expect(pids.every((pid) => processIsAlive(pid))).toBe(true);
    await owned.client.call('deleteInstance', { instanceId: instance.instanceId });
    expect(pids.filter((pid) => processIsAlive(pid))).toEqual([]);
  });

  it('does not wait out the grace when everything is gone', async () => {
    await using owned = await ownedServer({ stopGraceMs: 60_000 });
    const instance = await InstanceOf.create(owned);
    const { agentPid } = await instance.start();
    const begun = performance.now();
    const { exit } = await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    expect(performance.now() - begun).toBeLessThan(30_000);
    expect(exit.code === 0 || exit.signal === 'SIGTERM').toBe(true);
    expect(processIsAlive(agentPid)).toBe(false);
    await expect(owned.client.call('stopAgent', { instanceId: instance.instanceId })).rejects.toMatchObject({
      code: 'agent_not_running',
    });
  });

  it('clears away what an agent left behind when it ended by itself', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      { step: 'child', command: SLEEP, ownSession: true },
      { step: 'crash', signal: 'SIGKILL' },
    );
    const texts = textsOf(await readUntil(stream, isType('agent_exited')));
    const pid = Number(/^child: (\d+)$/.exec(texts[0] ?? '')?.[1]);
    await waitForExit(pid, { withinMs: 60_000, reason: 'its agent is gone' });
    await instance.untilIt('the agent to be forgotten', ({ agentPid }) => agentPid === null);
    expect((await instance.describe()).status).toBe('failed');
  });

  it('does not wait for the output of what an agent left behind', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    // The child holds the agent's stdout open.
    await instance.start({ command: ['sh', '-c', 'sleep 600 & exec "$@"', 'sh', ...scriptedAgentCommand()] });
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'say', text: 'last words' }, { step: 'crash', exitCode: 9 });
    const events = await readUntil(stream, isType('agent_exited'));
    expect(textsOf(events)).toEqual(['last words']);
    expect(events.map(({ event }) => event.type)).toEqual([
      'turn_started',
      'session_update',
      'turn_ended',
      'agent_exited',
    ]);
    expect(events.at(-1)?.event).toMatchObject({ code: 9, expected: false });
  });

  it('stops all instances of a server at the same time, and leaves nothing', async () => {
    const owned = await ownedServer();
    const { pids } = await stubbornFamily(owned);
    const second = await InstanceOf.create(owned);
    const { agentPid } = await second.start();
    expect(await owned.client.call('shutdown', {})).toEqual({ stopping: true, instances: 2 });
    expect(await owned.server.ended).toEqual({ why: 'shutdown' });
    expect([...pids, agentPid].filter((pid) => processIsAlive(pid))).toEqual([]);
    await owned[Symbol.asyncDispose]();
  });

  it('takes no stream any more once it is decided', async () => {
    // On this clock the agent has its grace until the test is over.
    await using owned = await ownedServer({ clock: new ManualClock() });
    const environment = startBehaviour({ ignoreSigterm: true, ignoreStdinEnd: true });
    const instance = await InstanceOf.create(owned, { environment });
    await instance.start();
    await using stream = await instance.attach(0);
    await owned.client.call('shutdown', {});
    expect((await stream.ended).code).toBe(STREAM_CLOSE.serverStopping);
    await expect(instance.attach(0)).rejects.toMatchObject({ code: 'shutting_down' });
    expect((await instance.describe()).status).toBe('stopping');
  });

  it('answers a stop of the agent although its output waits for room, and keeps that output', async () => {
    await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit: 5 } });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(1, { step: 'chunks', count: 40 }, { step: 'silence' });
    await instance.untilIt('the producer to be paused', ({ journal }) => journal.paused);
    await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    expect(await instance.describe()).toMatchObject({ status: 'stopping', activeTurnId: turnId });
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('agent_exited'));
    expect(textsOf(events)).toHaveLength(40);
    await instance.untilIt('the agent to be gone', ({ status }) => status === 'idle');
    expect((await instance.turns()).retained).toMatchObject([{ turnId }]);
  });

  it('stops an instance that nobody uses for the idle timeout, and not one that is attached', async () => {
    const settings = { ...SETTINGS, unownedPeriodMs: 60_000, idleTimeoutMs: 60_000 };
    await using owned = await ownedServer({ clock: fastClock(20), settings });
    const idle = await InstanceOf.create(owned);
    const attached = await InstanceOf.create(owned);
    await using stream = await attached.attach(0);
    const claims = setInterval(() => void owned.client.call('claim', {}).catch(() => undefined), 100);
    try {
      await until(async () => (await owned.client.call('listInstances', {})).instances.length === 1, {
        reason: 'the idle instance to be stopped',
        withinMs: 60_000,
      });
      await expect(idle.describe()).rejects.toMatchObject({ code: 'instance_not_found' });
      expect((await attached.describe()).attached).toBe(true);
      expect(stream.attached.nextSeq).toBe(1);
    } finally {
      clearInterval(claims);
    }
  });
});
