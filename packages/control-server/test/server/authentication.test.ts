import { describe, expect, it } from '@jest/globals';
import { startBehaviour } from '@holdfast/scripted-agent';
import { InstanceOf, ownedServer } from '../support/owned-server.ts';

describe('an agent that wants to be authenticated', () => {
  it('says so with what it offers, and starts with one of that', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned, { environment: startBehaviour({ authRequired: true }) });
    await expect(instance.start()).rejects.toMatchObject({
      code: 'agent_start_failed',
      message: 'The agent wants to be authenticated first; its authMethodIds: scripted-login.',
      details: {
        phase: 'authenticate',
        reason: 'authentication_required',
        authMethodIds: ['scripted-login'],
        agentError: { code: -32_000, message: 'Authentication required' },
      },
    });
    await expect(instance.start({ authMethodId: 'oauth' })).rejects.toMatchObject({
      message: 'The agent has no authMethodId "oauth"; its authMethodIds: scripted-login.',
      details: { phase: 'authenticate', authMethodIds: ['scripted-login'] },
    });
    await instance.start({ authMethodId: 'scripted-login' });
    expect((await instance.describe()).status).toBe('ready');
  });

  it('decides itself on a method when it tells of none', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ authMethodId: 'any' });
    expect((await instance.describe()).status).toBe('ready');
  });

  it('says so when it asks for it without offering a method', async () => {
    await using owned = await ownedServer();
    const sessionError = { code: -32_000, message: 'Log in first' };
    const instance = await InstanceOf.create(owned, { environment: startBehaviour({ sessionError }) });
    await expect(instance.start()).rejects.toMatchObject({
      message: 'The agent wants to be authenticated first; its authMethodIds: none.',
      details: { phase: 'authenticate', authMethodIds: [], agentError: sessionError },
    });
  });
});
