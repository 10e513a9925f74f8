import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, type TestHome } from '@holdfast/testbeds';
import { AcpClient } from './acp-client.ts';

let home: TestHome;
let client: AcpClient;
let session: string;

beforeEach(async () => {
  home = await testHome('scripted-agent');
  [client, session] = await AcpClient.open({ cwd: home.root });
});

afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

describe('permission', () => {
  it.each([
    [{ outcome: 'selected', optionId: 'allow' }, 'permission: allow'],
    [{ outcome: 'selected', optionId: 'reject' }, 'permission: reject'],
    [{ outcome: 'cancelled' }, 'permission: cancelled'],
  ])('answered with %j is said', async (outcome, text) => {
    const prompt = client.startPrompt(session, script({ step: 'permission', title: 'Delete all' }));
    const request = await client.message(
      ({ method }) => method === 'session/request_permission',
      'the request',
    );
    expect(request.params).toMatchObject({
      sessionId: session,
      toolCall: { toolCallId: 'call-1', title: 'Delete all' },
      options: [
        { optionId: 'allow', kind: 'allow_once' },
        { optionId: 'reject', kind: 'reject_once' },
      ],
    });
    client.send({ id: request.id, result: { outcome } });
    expect((await client.answerTo(prompt)).result).toEqual({ stopReason: 'end_turn' });
    expect(client.texts).toEqual([text]);
  });

  it('keeps a cancelled turn waiting until the client answered', async () => {
    const prompt = client.startPrompt(session, script({ step: 'permission', title: 'Delete all' }));
    const request = await client.message(
      ({ method }) => method === 'session/request_permission',
      'the request',
    );
    client.cancel(session);
    // The agent has seen the cancel once it answers what was sent after it.
    await client.call('session/set_mode', { sessionId: session, modeId: 'ask' });
    expect(client.messages.some(({ id, result }) => id === prompt && result !== undefined)).toBe(false);
    client.send({ id: request.id, result: { outcome: { outcome: 'cancelled' } } });
    expect((await client.answerTo(prompt)).result).toEqual({ stopReason: 'cancelled' });
    expect(client.texts).toEqual(['permission: cancelled']);
  });

  it('is withdrawn by the agent when told', async () => {
    const prompt = client.startPrompt(
      session,
      script({ step: 'permission', title: 'Delete all', withdrawAfterMs: 10 }),
    );
    const request = await client.message(
      ({ method }) => method === 'session/request_permission',
      'the request',
    );
    const withdrawal = await client.message(({ method }) => method === '$/cancel_request', 'the withdrawal');
    expect(withdrawal.params).toEqual({ requestId: request.id });
    client.send({ id: request.id, error: { code: -32800, message: 'cancelled' } });
    await client.answerTo(prompt);
    expect(client.texts).toEqual(['permission: error -32800']);
  });

  it('is not asked for in the mode auto', async () => {
    await client.call('session/set_mode', { sessionId: session, modeId: 'auto' });
    await client.prompt(session, script({ step: 'permission', title: 'Delete all' }));
    expect(client.texts).toEqual(['permission: allow']);
  });
});
