import { describe, expect, it } from '@jest/globals';
import { startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import type { EventStream } from '@holdfast/control-protocol/client';
import {
  InstanceOf,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';

/** An instance whose agent has said something and was stopped; `ask` loads the conversation. */
async function stopped(
  owned: OwnedServer,
  behaviour: StartBehaviour,
): Promise<{ instance: InstanceOf; stream: EventStream; providerSessionId: string }> {
  const instance = await InstanceOf.create(owned, { environment: startBehaviour(behaviour) });
  const { providerSessionId } = (await instance.start()).session;
  const stream = await instance.attach(0);
  await instance.prompt(1, { step: 'say', text: 'said before' });
  await readUntil(stream, isType('turn_ended'));
  await owned.client.call('stopAgent', { instanceId: instance.instanceId });
  await readUntil(stream, isType('agent_exited'));
  return { instance, stream, providerSessionId };
}

describe('a conversation that an agent goes on with', () => {
  it.each([
    ['loaded, with its history not told again', {}, 'load'],
    ['loaded, when its history is told again after the answer', { lateReplay: true }, 'load'],
    ['resumed where the agent offers that', { resume: true }, 'resume'],
    ['resumed where the agent offers nothing else', { resume: true, loadSession: false }, 'resume'],
  ] as const)('is %s', async (_how, behaviour, opened) => {
    await using owned = await ownedServer();
    const { instance, stream, providerSessionId } = await stopped(owned, behaviour);
    const again = await instance.start({ session: { kind: 'load', providerSessionId } });
    expect(again.session.providerSessionId).toBe(providerSessionId);
    await instance.prompt(2, { step: 'choices' });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual([
      `choices: {"opened":"${opened}","mode":"ask"}`,
    ]);
    await stream.close();
  });

  it.each([-32_002, -32_602, -32_603])('is told as not found by an agent that says %i', async (code) => {
    for (const resume of [false, true]) {
      await using owned = await ownedServer();
      const behaviour = startBehaviour({ unknownSessionCode: code, resume });
      const instance = await InstanceOf.create(owned, { environment: behaviour });
      const session = { kind: 'load', providerSessionId: 'session-gone' } as const;
      await expect(instance.start({ session })).rejects.toMatchObject({
        code: 'agent_start_failed',
        message: `The agent does not have that conversation any more (${String(code)}: There is no session "session-gone".); start it with a new session.`,
        details: { phase: 'session', reason: 'session_not_found', agentError: { code } },
      });
      await instance.start();
    }
  });

  it('is told as not to be loaded by an agent that cannot', async () => {
    await using owned = await ownedServer();
    const environment = startBehaviour({ loadSession: false });
    const instance = await InstanceOf.create(owned, { environment });
    const session = { kind: 'load', providerSessionId: 'session-gone' } as const;
    await expect(instance.start({ session })).rejects.toMatchObject({
      code: 'agent_start_failed',
      message: 'The agent cannot load conversations; start it with a new session.',
      details: { phase: 'session', reason: 'load_not_supported' },
    });
  });

  it('has no reason of these when the agent refuses it otherwise', async () => {
    await using owned = await ownedServer();
    const environment = startBehaviour({ sessionError: { code: -32_050, message: 'full' } });
    const instance = await InstanceOf.create(owned, { environment });
    const session = { kind: 'load', providerSessionId: 'session-gone' } as const;
    const failure = await instance.start({ session }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ details: { phase: 'session', agentError: { message: 'full' } } });
    expect(failure).not.toHaveProperty('details.reason');
  });
});
