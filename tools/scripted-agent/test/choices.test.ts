import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script, startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import { processIsAlive, testHome, type TestHome } from '@holdfast/testbeds';
import { AcpClient } from './acp-client.ts';

let home: TestHome;

beforeEach(async () => {
  home = await testHome('scripted-agent');
});

afterEach(async () => {
  await home[Symbol.asyncDispose]();
});

const open = async (behaviour: StartBehaviour): Promise<[AcpClient, string]> =>
  await AcpClient.open({ cwd: home.root, env: startBehaviour(behaviour) });

/** What the last turn said, without the word before it. */
async function chosen(client: AcpClient, session: string): Promise<unknown> {
  await client.prompt(session, script({ step: 'choices' }));
  return JSON.parse(client.texts.at(-1)?.replace('choices: ', '') ?? '');
}

describe('what is chosen in a session', () => {
  it('is offered as lists, and set by their methods', async () => {
    const [client, sessionId] = await open({ models: 'list' });
    await using _ = client;
    expect((await client.call('session/set_model', { sessionId, modelId: 'large' })).result).toEqual({});
    expect((await client.call('session/set_model', { sessionId, modelId: 'huge' })).error?.code).toBe(-32602);
    const option = { sessionId, configId: 'effort', value: 'high' };
    expect((await client.call('session/set_config_option', option)).error?.code).toBe(-32601);
    expect(await chosen(client, sessionId)).toEqual({ opened: 'new', mode: 'ask', model: 'large' });
  });

  it('is offered as options, and answered with all of them', async () => {
    const [client, sessionId] = await open({ models: 'option', configOptions: true });
    await using _ = client;
    const set = async (option: object) =>
      await client.call('session/set_config_option', { sessionId, ...option });
    await set({ configId: 'model', value: 'large' });
    expect((await set({ configId: 'verbose', type: 'boolean', value: true })).result).toMatchObject({
      configOptions: [
        { id: 'model', category: 'model', currentValue: 'large' },
        { id: 'effort', currentValue: 'low' },
        { id: 'verbose', currentValue: true },
      ],
    });
    expect((await set({ configId: 'verbose', value: true })).error?.code).toBe(-32602);
    expect((await set({ configId: 'colour', value: 'red' })).error?.code).toBe(-32602);
    expect((await client.call('session/set_model', { sessionId, modelId: 'large' })).error?.code).toBe(
      -32601,
    );
  });

  it('falls back when the session is loaded or resumed; only a load replays', async () => {
    const [client, sessionId] = await open({ models: 'list', resume: true, unknownSessionCode: -32603 });
    await using _ = client;
    await client.call('session/set_mode', { sessionId, modeId: 'auto' });
    await client.prompt(sessionId, 'hello');
    const updates = client.updates.length;
    await client.call('session/resume', { sessionId, cwd: home.root });
    expect(client.updates).toHaveLength(updates);
    expect(await chosen(client, sessionId)).toEqual({ opened: 'resume', mode: 'ask', model: 'small' });
    await client.call('session/load', { sessionId, cwd: home.root });
    expect(client.updates.length).toBeGreaterThan(updates + 1);
    expect(await chosen(client, sessionId)).toMatchObject({ opened: 'load' });
    const unknown = await client.call('session/resume', { sessionId: 'session-none', cwd: home.root });
    expect(unknown.error?.code).toBe(-32603);
  });
});

describe('manners', () => {
  it('may be those of a peer that is hard to read', async () => {
    const [client, sessionId] = await open({
      twiceOn: 'initialize',
      stringIds: true,
      crlf: true,
      pieceBytes: 1,
    });
    await using _ = client;
    expect(client.messages.filter(({ id }) => id === 0)).toHaveLength(2);
    client.startPrompt(sessionId, script({ step: 'request', method: 'x/y' }));
    const request = await client.message(({ method }) => method === 'x/y', 'the request');
    expect(request.id).toBe('ask-0');
    expect(client.program.lines()).toContain('');
  });

  it('may be silence, or no more than half a line', async () => {
    const [client, sessionId] = await open({ silentOn: 'session/set_mode' });
    await using _ = client;
    client.request('session/set_mode', { sessionId, modeId: 'auto' });
    client.startPrompt(
      sessionId,
      script({ step: 'rawLine', line: '{"half', dots: 3, ended: false }, { step: 'crash' }),
    );
    await client.program.exited;
    expect(client.program.lines().at(-1)).toBe('{"half...');
    expect(client.messages.filter(({ id }) => id === 2)).toEqual([]);
  });

  it('may be pipes that are closed by an agent that lives on', async () => {
    const [client, sessionId] = await open({});
    await using _ = client;
    client.startPrompt(
      sessionId,
      script({ step: 'closeInput' }, { step: 'closeOutput' }, { step: 'silence' }),
    );
    const none = client.program.nextLine('no such line', { withinMs: 60_000 });
    await expect(none).rejects.toThrow('ended');
    expect(processIsAlive(client.program.pid)).toBe(true);
  });
});
