import { describe, expect, it } from '@jest/globals';
import { script, startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import { waitForExit } from '@holdfast/testbeds';
import type { ControlServerOptions } from '../../src/index.ts';
import {
  InstanceOf,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';

const instanceThat = async (owned: OwnedServer, behaviour: StartBehaviour): Promise<InstanceOf> =>
  await InstanceOf.create(owned, { environment: startBehaviour(behaviour) });

describe('the start of an agent', () => {
  it('answers with what the agent says of itself and of its session', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const started = await instance.start();
    expect(started).toMatchObject({
      agent: { name: 'scripted-agent', protocolVersion: 1, capabilities: { loadSession: true } },
      session: { modes: { currentModeId: 'ask' }, models: null, configOptions: null },
    });
    const { agentPid, status, providerSessionId } = await instance.describe();
    expect({ agentPid, status, providerSessionId }).toMatchObject({
      agentPid: started.agentPid,
      status: 'ready',
      providerSessionId: started.session.providerSessionId,
    });
    await expect(instance.start()).rejects.toMatchObject({ code: 'agent_already_running' });
  });

  it('hands on whole what the agent offers, with what nobody here knows', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const capabilities = { loadSession: true, telepathy: { range: [1, null] }, _meta: { a: {} } };
    const offered = {
      modes: { currentModeId: 'm', availableModes: [{ id: 'm', name: 'M', colour: 'red' }], _meta: {} },
      models: { currentModelId: 'x', availableModels: [{ modelId: 'x', cost: { in: 0.5 } }], more: true },
      configOptions: [{ id: 'o', type: 'dial', currentValue: 7, _meta: { step: 1 } }, { unheard: 'of' }],
    };
    const initialized = { protocolVersion: 1, agentCapabilities: capabilities };
    const answers = [initialized, { sessionId: 's', ...offered }].map((result, id) =>
      JSON.stringify({ jsonrpc: '2.0', id, result }),
    );
    const program = `for answer in "$@"; do read -r line; echo "$answer"; done; exec sleep 600`;
    const { agent, session } = await instance.start({ command: ['sh', '-c', program, 'sh', ...answers] });
    expect(agent.capabilities).toEqual(capabilities);
    expect(session).toEqual({ providerSessionId: 's', ...offered });
  });

  it.each([0, 4097])('does not start an agent whose session id has %i characters', async (length) => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const answers = [{ protocolVersion: 1 }, { sessionId: 's'.repeat(length) }].map((result, id) =>
      JSON.stringify({ jsonrpc: '2.0', id, result }),
    );
    const program = `for answer in "$@"; do read -r line; echo "$answer"; done; exec sleep 600`;
    await expect(instance.start({ command: ['sh', '-c', program, 'sh', ...answers] })).rejects.toMatchObject({
      code: 'agent_protocol_error',
      message: 'The agent answered session/new without a session id of 1 to 4096 characters.',
    });
    expect((await instance.describe()).providerSessionId).toBeNull();
  });

  const FAILURES: ReadonlyArray<readonly [string, StartBehaviour, object]> = [
    [
      'exits at once',
      { exit: 3, stderr: 'out of luck' },
      { code: 'agent_start_failed', details: { phase: 'initialize', exit: { code: 3, signal: null } } },
    ],
    [
      'exits at its session',
      { exit: 4, exitOn: 'session/new' },
      { code: 'agent_start_failed', details: { phase: 'session', exit: { code: 4, signal: null } } },
    ],
    [
      'refuses initialize',
      { initializeError: { code: -32_603, message: 'broken' } },
      {
        code: 'agent_start_failed',
        details: { phase: 'initialize', exit: null, agentError: { code: -32_603, message: 'broken' } },
      },
    ],
    [
      'refuses a session, and ignores SIGTERM',
      { sessionError: { code: -32_050, message: 'no' }, ignoreSigterm: true, ignoreStdinEnd: true },
      { code: 'agent_start_failed', details: { phase: 'session', agentError: { code: -32_050 } } },
    ],
    [
      'speaks another version',
      { protocolVersion: 2 },
      { code: 'agent_protocol_error', details: { phase: 'initialize' } },
    ],
  ];
  it.each(FAILURES)(
    'fails when the agent %s, and leaves the instance able to start again',
    async (_name, behaviour, error) => {
      await using owned = await ownedServer();
      const instance = await instanceThat(owned, behaviour);
      await expect(instance.start()).rejects.toMatchObject(error);
      expect(await instance.describe()).toMatchObject({
        status: 'idle',
        agentPid: null,
        providerSessionId: null,
      });
      const { lines } = await owned.client.call('getAgentStderr', { instanceId: instance.instanceId });
      expect(lines).toEqual(behaviour.stderr === undefined ? [] : [behaviour.stderr]);
      await expect(instance.start()).rejects.toMatchObject(error);
    },
  );

  it('fails when the program is missing', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await expect(instance.start({ command: ['/no/such/program'] })).rejects.toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'spawn', exit: null },
    });
    await expect(instance.start({ command: ['/no/such/program'] })).rejects.toThrow('ENOENT');
    await instance.start();
  });

  it('fails when the agent is silent for too long', async () => {
    const startBudgets: ControlServerOptions['startBudgets'] = { initializeMs: 300, sessionMs: 300 };
    await using owned = await ownedServer({ startBudgets });
    const instance = await instanceThat(owned, { silent: true });
    await expect(instance.start()).rejects.toMatchObject({
      code: 'agent_timeout',
      details: { phase: 'initialize' },
    });
    expect(await instance.describe()).toMatchObject({ status: 'idle', agentPid: null });
  });

  it('fails when the agent takes longer than its own budget', async () => {
    await using owned = await ownedServer();
    const instance = await instanceThat(owned, { silent: true });
    await expect(instance.start({ startBudgetMs: 1000 })).rejects.toThrow(
      'The agent did not finish initialize within 1000 ms',
    );
    await expect(instance.start({ startBudgetMs: 999 })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each(['stopAgent', 'deleteInstance'] as const)('is given up by %s', async (name) => {
    await using owned = await ownedServer();
    const instance = await instanceThat(owned, { silent: true });
    const failed = instance.start().catch((error: unknown) => error);
    await instance.untilIt('the agent to be starting', ({ status }) => status === 'starting');
    await owned.client.call(name, { instanceId: instance.instanceId });
    expect(await failed).toMatchObject({ code: 'agent_start_failed' });
  });

  it('sets the mode where it is asked to', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ modeId: 'auto' });
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'permission', title: 'x' });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['permission: allow']);
  });

  it('names the phase when a mode or a model is refused', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await expect(instance.start({ modeId: 'unknown' })).rejects.toMatchObject({ details: { phase: 'mode' } });
    await expect(instance.start({ modelId: 'any' })).rejects.toMatchObject({
      details: { phase: 'model', agentError: { code: -32_601 } },
    });
  });

  it('loads a session without journaling its history', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const { session } = await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'say', text: 'said before' });
    await readUntil(stream, isType('turn_ended'));
    await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    await readUntil(stream, isType('agent_exited'));

    const { providerSessionId } = session;
    const again = await instance.start({ session: { kind: 'load', providerSessionId } });
    expect(again.session.providerSessionId).toBe(providerSessionId);
    await instance.prompt(2, { step: 'say', text: 'said now' });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['said now']);
  });

  it('gives the agent a small environment of its own', async () => {
    const environment = {
      ...process.env,
      LC_ALL: 'C',
      SECRET_OF_THE_SERVER: 'x',
      KANDEV_ACP_IDLE_TIMEOUT: '1h',
    };
    await using owned = await ownedServer({ environment });
    const instance = await InstanceOf.create(owned, {
      environment: { LC_ALL: 'C.UTF-8', HOLDFAST_INSTANCE_ID: 'forged' },
    });
    await instance.start();
    await using stream = await instance.attach(0);
    const names = [
      'PATH',
      'LC_ALL',
      'SECRET_OF_THE_SERVER',
      'KANDEV_ACP_IDLE_TIMEOUT',
      'NODE_OPTIONS',
      'HOLDFAST_INSTANCE_ID',
    ];
    await instance.prompt(1, ...names.map((name) => ({ step: 'environment' as const, name })));
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual([
      `PATH=${String(process.env['PATH'])}`,
      'LC_ALL=C.UTF-8',
      'SECRET_OF_THE_SERVER is not set',
      'KANDEV_ACP_IDLE_TIMEOUT is not set',
      'NODE_OPTIONS is not set',
      `HOLDFAST_INSTANCE_ID=${instance.instanceId}`,
    ]);
  });

  it('tells attached backends which MCP servers were handed over', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await using stream = await instance.attach(0);
    await instance.start({
      mcpServers: [{ type: 'http', name: 'tools', url: 'http://127.0.0.1:1', headers: [] }],
    });
    const { value } = await stream[Symbol.asyncIterator]().next();
    expect(value).toEqual({
      type: 'lossy',
      event: { type: 'mcp_attachment_attempt', serverName: 'tools', transport: 'http' },
    });
  });

  it('keeps to what a client may be asked for', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      { step: 'request', method: 'terminal/create', params: { path: '/etc/passwd' } },
      { step: 'request', method: 'session/request_permission', params: {} },
    );
    const texts = textsOf(await readUntil(stream, isType('turn_ended')));
    expect(texts).toEqual(['request: error -32601', 'request: error -32602']);
  });
});

describe('an agent that breaks the protocol', () => {
  it('is ended at a line larger than a frame, with an event that says so', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const { agentPid } = await instance.start();
    await using stream = await instance.attach(0);
    const { instanceId } = instance;
    await owned.client.call('prompt', {
      instanceId,
      promptGeneration: 4,
      content: [
        {
          type: 'text',
          text: script({ step: 'chunks', count: 1, bytes: 17 * 1024 * 1024 }, { step: 'silence' }),
        },
      ],
    });
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.slice(1).map(({ event }) => event)).toMatchObject([
      { type: 'agent_error', code: 'agent_protocol_error', promptGeneration: 4 },
      { type: 'turn_ended', outcome: { kind: 'failed', stopReason: 'agent_exited' } },
      { type: 'agent_exited', expected: false },
    ]);
    await waitForExit(agentPid, { withinMs: 60_000, reason: 'it broke the protocol' });
  });
});
