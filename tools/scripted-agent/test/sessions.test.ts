import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script, startBehaviour } from '@holdfast/scripted-agent';
import { testHome, type TestHome } from '@holdfast/testbeds';
import { AcpClient } from './acp-client.ts';

let home: TestHome;

beforeEach(async () => {
  home = await testHome('scripted-agent');
});

afterEach(async () => {
  await home[Symbol.asyncDispose]();
});

describe('the protocol', () => {
  it('is version 1, with sessions that can be loaded', async () => {
    await using client = await AcpClient.start({ cwd: home.root });
    const answer = await client.call('initialize', { protocolVersion: 1 });
    expect(answer.result).toMatchObject({
      protocolVersion: 1,
      agentCapabilities: { loadSession: true },
      agentInfo: { name: 'scripted-agent' },
      authMethods: [],
    });
  });

  it('offers the modes ask and auto', async () => {
    await using client = await AcpClient.start({ cwd: home.root });
    const { result } = await client.call('session/new', { cwd: home.root, mcpServers: [] });
    expect(result?.['modes']).toMatchObject({
      currentModeId: 'ask',
      availableModes: [{ id: 'ask' }, { id: 'auto' }],
    });
    const sessionId = result?.['sessionId'];
    expect((await client.call('session/set_mode', { sessionId, modeId: 'auto' })).result).toEqual({});
    expect((await client.call('session/set_mode', { sessionId, modeId: 'wild' })).error?.code).toBe(-32602);
  });

  it.each([
    ['session/fork', {}, -32601],
    ['session/prompt', { sessionId: 'session-none', prompt: [] }, -32002],
    ['session/load', { sessionId: '../session-none', cwd: '/', mcpServers: [] }, -32002],
    ['session/set_mode', { sessionId: 'session-none', modeId: 'ask' }, -32002],
    ['session/new', {}, -32602],
    ['session/new', 'here', -32602],
  ])('answers %s %j with %i', async (method, params, code) => {
    await using client = await AcpClient.start({ cwd: home.root });
    expect((await client.call(method, params)).error?.code).toBe(code);
  });

  it('answers a line that is not JSON with -32700 and goes on', async () => {
    await using client = await AcpClient.start({ cwd: home.root });
    client.program.write('nonsense\n');
    const refusal = await client.message(({ id }) => id === null, 'the refusal');
    expect(refusal.error?.code).toBe(-32700);
    expect((await client.call('initialize', {})).result).toBeDefined();
  });

  it('takes one turn at a time in a session, and turns side by side in two', async () => {
    const [client, first] = await AcpClient.open({ cwd: home.root });
    await using _ = client;
    const opened = await client.call('session/new', { cwd: home.root, mcpServers: [] });
    const second = String(opened.result?.['sessionId']);
    const silent = client.startPrompt(first, script({ step: 'silence' }));
    expect((await client.prompt(first, 'me too')).error?.code).toBe(-32600);
    expect((await client.prompt(second, 'me too')).result).toEqual({ stopReason: 'end_turn' });
    client.cancel(first);
    expect((await client.answerTo(silent)).result).toEqual({ stopReason: 'cancelled' });
  });
});

describe('session/load', () => {
  it('replays in another process what was sent, before its answer, floods excepted', async () => {
    const env = { SCRIPTED_AGENT_STATE: home.path('state') };
    const text = script(
      { step: 'say', text: 'one' },
      { step: 'flood', count: 5, bytes: 10 },
      { step: 'toolCall', title: 'Look', statuses: ['pending', 'failed'] },
    );
    const [first, sessionId] = await AcpClient.open({ cwd: home.root, env });
    await first.call('session/set_mode', { sessionId, modeId: 'auto' });
    await first.prompt(sessionId, text);
    const remembered = first.updates.filter((update) => !update.content?.text?.startsWith('flood'));
    await first[Symbol.asyncDispose]();

    await using second = await AcpClient.start({ cwd: home.root, env });
    const answer = await second.call('session/load', { sessionId, cwd: home.root, mcpServers: [] });
    expect(answer.result).toMatchObject({ modes: { currentModeId: 'ask' } });
    expect(second.messages.at(-1)).toEqual(answer);
    expect(second.updates).toEqual([
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text } },
      ...remembered,
    ]);
    await second.prompt(
      sessionId,
      script({ step: 'toolCall', title: 'Look again', statuses: ['completed'] }),
    );
    expect(second.updates.at(-1)?.['toolCallId']).toBe('call-2');
  });
});

describe('the start', () => {
  it('ends with the exit code and the words it was told', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: startBehaviour({ exit: 3, stderr: 'out of luck' }),
    });
    expect(await client.program.exited).toEqual({ exitCode: 3, signal: null });
    await client.program.nextLine('out of luck', { from: 'stderr', withinMs: 60_000 });
  });

  it('ends when the request it was told arrives', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: startBehaviour({ exit: 4, exitOn: 'session/new' }),
    });
    expect((await client.call('initialize', {})).result).toBeDefined();
    client.request('session/new', { cwd: home.root, mcpServers: [] });
    expect(await client.program.exited).toEqual({ exitCode: 4, signal: null });
  });

  it.each([
    [{ initializeError: { code: -32099, message: 'no' } }, 'initialize', { code: -32099, message: 'no' }],
    [{ sessionError: { code: -32098, message: 'full' } }, 'session/new', { code: -32098, message: 'full' }],
    [{ authRequired: true }, 'session/new', { code: -32000, message: 'Authentication required' }],
  ])('answers as told by %j', async (behaviour, method, error) => {
    await using client = await AcpClient.start({ cwd: home.root, env: startBehaviour(behaviour) });
    expect((await client.call(method, { cwd: home.root, mcpServers: [] })).error).toEqual(error);
  });

  it('opens sessions once authenticated', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: startBehaviour({ authRequired: true }),
    });
    const { result } = await client.call('initialize', {});
    expect(result?.['authMethods']).toMatchObject([{ id: 'scripted-login' }]);
    await client.call('authenticate', { methodId: 'scripted-login' });
    const opened = await client.call('session/new', { cwd: home.root, mcpServers: [] });
    expect(opened.result?.['sessionId']).toMatch(/^session-/);
  });

  it('speaks another protocol version, after noise and a pause, without session/load', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: startBehaviour({ protocolVersion: 99, stdoutLine: 'Welcome!', delayMs: 50, loadSession: false }),
    });
    const { result } = await client.call('initialize', {});
    expect(result).toMatchObject({ protocolVersion: 99, agentCapabilities: { loadSession: false } });
    expect(client.program.lines()[0]).toBe('Welcome!');
    const load = await client.call('session/load', { sessionId: 's', cwd: home.root, mcpServers: [] });
    expect(load.error?.code).toBe(-32601);
  });

  it('is silent, deaf to SIGTERM and to the end of its input', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: startBehaviour({
        silent: true,
        stderr: 'listening',
        ignoreSigterm: true,
        ignoreStdinEnd: true,
      }),
    });
    await client.program.nextLine('listening', { from: 'stderr', withinMs: 60_000 });
    client.request('initialize', {});
    client.program.endInput();
    client.program.kill('SIGTERM');
    const ended = await Promise.race([client.program.exited, pause(300)]);
    expect(ended).toBe('still running');
    expect(client.program.lines()).toEqual([]);
  });

  it('refuses a behaviour it does not know', async () => {
    await using client = await AcpClient.start({
      cwd: home.root,
      env: { SCRIPTED_AGENT_START: '{"explode":true}' },
    });
    expect(await client.program.exited).toEqual({ exitCode: 1, signal: null });
    await client.program.nextLine('no field "explode"', { from: 'stderr', withinMs: 60_000 });
  });
});

/** Long enough for an agent that would end to do so: no condition can show that nothing happens. */
async function pause(ms: number): Promise<'still running'> {
  return await new Promise((resolve) => {
    setTimeout(resolve, ms, 'still running');
  });
}
