import { expect, it, jest } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until } from '@holdfast/testbeds';
import { OpenHost } from '../fixtures/open-host.ts';
import { agentsIn } from '../fixtures/situations.ts';

const GIVEN_UP = { code: 'agent_start_cancelled', sessionId: 'one' };

it('ends a launch whose agent runs already, until the session has come up', async () => {
  await using home = await testHome('late-cancel');
  await using host = await OpenHost.open(home);
  const { sessions } = host.ledger;
  const setState = sessions.setState.bind(sessions);
  jest.spyOn(sessions, 'setState').mockImplementationOnce(async (...args) => {
    expect(await (await host.sessions.get('one'))?.cancel()).toBe(true);
    await setState(...args);
  });
  await expect(host.create('one')).rejects.toMatchObject(GIVEN_UP);
  expect(agentsIn(home.root)).toEqual([]);
  const session = await host.sessions.get('one');
  expect(await session?.record()).toMatchObject({ state: 'failed' });
  expect(await (await session?.prompt('hello'))?.outcome).toMatchObject({ kind: 'completed' });
});

it.each(['a cancel', 'an error'])(
  'leaves nothing of an agent that %s meets before its start is over',
  async (what) => {
    await using home = await testHome('late-cancel');
    await using host = await OpenHost.open(home);
    const session = await host.create('one');
    await (
      await session.prompt(script({ step: 'crash' }))
    ).outcome;
    await until(async () => (await session.instance())?.agentPid === null && session.execution !== null, {
      reason: 'the agent to be gone',
      withinMs: 60_000,
    });
    await until(() => host.services.live.get('one')?.agentRunning === false, {
      reason: 'the host to know',
      withinMs: 60_000,
    });
    const runtime = host.services.runtimes.get('standalone');
    if (runtime === undefined) throw new Error('there is no runtime');
    const identify = runtime.identify.bind(runtime);
    jest.spyOn(runtime, 'identify').mockImplementationOnce(async (pid, signal) => {
      if (what === 'an error') throw new Error('no process can be looked at');
      expect(await session.cancel()).toBe(true);
      return await identify(pid, signal);
    });
    await expect(session.prompt('again')).rejects.toMatchObject(
      what === 'an error' ? { message: 'no process can be looked at' } : GIVEN_UP,
    );
    expect(await session.instance()).toMatchObject({ agentPid: null });
    expect(agentsIn(home.root)).toEqual([]);
    expect(await (await session.prompt('hello')).outcome).toMatchObject({ kind: 'completed' });
  },
);
