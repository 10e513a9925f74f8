import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { MAX_FRAME_BYTES } from '@holdfast/control-protocol';
import { scriptedAgentCommand, startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import { processIsAlive, waitForExit } from '@holdfast/testbeds';
import { z } from 'zod';
import {
  InstanceOf,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
  type Steps,
} from '../support/owned-server.ts';

const MIB = 1024 * 1024;
const ASKING_AGENT = fileURLToPath(new URL('../fixtures/asking-agent.ts', import.meta.url));

/** What an agent with this behaviour says when it is told to do these steps, up to the end of its turn. */
async function turnOf(owned: OwnedServer, behaviour: StartBehaviour, ...steps: Steps) {
  const instance = await InstanceOf.create(owned, { environment: startBehaviour(behaviour) });
  await instance.start();
  await using stream = await instance.attach(0);
  await instance.prompt(1, ...steps);
  return await readUntil(stream, isType('turn_ended'));
}

const NoiseLine = z.object({ noise: z.string(), lines: z.number() });

/** Which noise the log of the server tells of, with the numbers at which it does. */
async function noiseIn({ server }: OwnedServer): Promise<Record<string, number[]>> {
  const told: Record<string, number[]> = {};
  for (const line of (await readFile(server.logFile, 'utf8')).split('\n').filter((text) => text !== '')) {
    const noise = NoiseLine.safeParse(JSON.parse(line));
    if (noise.success) (told[noise.data.noise] ??= []).push(noise.data.lines);
  }
  return told;
}

describe('what an agent says', () => {
  it('is kept as it is, unknown variants and fields included', async () => {
    await using owned = await ownedServer();
    const updates = [
      { sessionUpdate: 'brain_scan', depth: 3, nested: { list: [null, 1.5, 'ü'] }, _meta: { a: 1 } },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'hologram', data: '…' }, extra: true },
      { sessionUpdate: 'tool_call', toolCallId: 'x', title: '', kind: 'dance', status: 'half-done' },
      { sessionUpdate: 'usage_update', used: 'many', size: null },
    ];
    const events = await turnOf(
      owned,
      {},
      ...updates.map((update) => ({ step: 'unknownUpdate' as const, update })),
    );
    expect(events.slice(1, -1).map(({ event }) => event)).toEqual(
      updates.map((update) => ({ type: 'session_update', update })),
    );
  });

  it('comes whole from one that writes byte by byte, with CR LF and blank lines', async () => {
    await using owned = await ownedServer();
    const text = 'é € 😀 \u2028 \r\n';
    const events = await turnOf(owned, { pieceBytes: 1, crlf: true }, { step: 'say', text });
    expect(textsOf(events)).toEqual([text]);
    expect(await noiseIn(owned)).toEqual({});
  });

  it('comes whole when it is nested deeply', async () => {
    await using owned = await ownedServer();
    let nested: unknown = 7;
    for (let level = 0; level < 900; level += 1) nested = level % 2 === 0 ? [nested] : { nested };
    const update = { sessionUpdate: 'deep', nested };
    const events = await turnOf(owned, {}, { step: 'unknownUpdate', update });
    expect(events[1]?.event).toEqual({ type: 'session_update', update });
  });

  it('comes whole when a line is nearly as long as a frame', async () => {
    await using owned = await ownedServer();
    const events = await turnOf(owned, {}, { step: 'chunks', count: 1, bytes: MAX_FRAME_BYTES - 300 });
    expect(textsOf(events)[0]).toHaveLength(MAX_FRAME_BYTES - 300);
  });

  it('may come after the answer to its prompt', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'late', afterMs: 20, text: 'by the way' });
    const said = await readUntil(stream, isType('session_update'));
    expect(said.some(isType('turn_ended'))).toBe(true);
    expect(textsOf(said)).toEqual(['by the way']);
    expect((await instance.turns()).retained).toMatchObject([{ outcome: { kind: 'completed' } }]);
  });

  it('may be that a turn was cancelled although nobody did, after a permission was refused', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      { step: 'permission', title: 'x' },
      { step: 'end', stopReason: 'cancelled' },
      { step: 'say', text: 'never' },
    );
    await readUntil(stream, isType('permission_requested'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    const requestId = permissions[0]?.requestId ?? '';
    await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'reject' });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toMatchObject({ outcome: { kind: 'cancelled', stopReason: 'cancelled' } });
    expect(events.some(isType('permission_cancelled'))).toBe(false);
  });
});

describe('lines that are no messages for us', () => {
  it('are counted by their kind, told in the log ever more seldom, and not answered', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const line = (text: string) => ({ step: 'rawLine', line: text }) as const;
    // What the server writes to the agent is kept beside.
    const command = ['sh', '-c', 'tee sent.jsonl | "$@"', 'sh', ...scriptedAgentCommand()];
    await instance.start({ command });
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      ...Array.from({ length: 25 }, () => line('secret words {')),
      line('{"foo":1}'),
      line('[{"jsonrpc":"2.0","id":0,"result":{}}]'),
      line('17'),
      line('{"jsonrpc":"2.0","id":0}'),
      line('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}'),
      line('{"jsonrpc":"2.0","id":4711,"result":{}}'),
      line('{"jsonrpc":"2.0","id":"0","result":{}}'),
      line('{"jsonrpc":"2.0","method":"_vendor/ping","params":{}}'),
      line('{"jsonrpc":"2.0","method":"session/update","params":{"update":7}}'),
      line('   '),
      { step: 'say', text: 'heard' },
    );
    const events = await readUntil(stream, isType('turn_ended'));
    expect(textsOf(events)).toEqual(['heard']);
    expect(events).toHaveLength(3);
    expect(await noiseIn(owned)).toEqual({
      not_json: [1, 10],
      not_a_message: [1],
      unknown_answer: [1],
      unknown_notification: [1],
    });
    expect(await readFile(owned.server.logFile, 'utf8')).not.toContain('secret words');
    const sent = (await readFile(owned.home.path('workspace', 'sent.jsonl'), 'utf8')).trim().split('\n');
    expect(sent.map((json) => z.object({ method: z.string() }).parse(JSON.parse(json)).method)).toEqual([
      'initialize',
      'session/new',
      'session/prompt',
    ]);
  });

  it('may come before it is asked anything', async () => {
    await using owned = await ownedServer();
    const update = { sessionUpdate: 'session_info_update', title: 'early' };
    const early = JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { update } });
    const events = await turnOf(owned, { stdoutLine: `Welcome!\n${early}` }, { step: 'say', text: 'x' });
    expect(events[0]?.event).toEqual({ type: 'session_update', update });
    expect(await noiseIn(owned)).toEqual({ not_json: [1] });
  });

  it('may be a second answer', async () => {
    await using owned = await ownedServer();
    const events = await turnOf(owned, { twiceOn: 'initialize' }, { step: 'say', text: 'x' });
    expect(textsOf(events)).toEqual(['x']);
    expect(await noiseIn(owned)).toEqual({ unknown_answer: [1] });
  });
});

describe('what an agent asks', () => {
  it.each([false, true])(
    'is answered under its own id, whose numbers are apart from ours (texts: %p)',
    async (stringIds) => {
      await using owned = await ownedServer();
      const instance = await InstanceOf.create(owned, { environment: startBehaviour({ stringIds }) });
      await instance.start();
      await using stream = await instance.attach(0);
      // Its first request has the number of our first one; one that is not known is refused.
      await instance.prompt(
        1,
        { step: 'permission', title: 'x' },
        { step: 'request', method: '_vendor/sing', params: [1] },
      );
      await readUntil(stream, isType('permission_requested'));
      const { instanceId } = instance;
      const { permissions } = await owned.client.call('listPermissions', { instanceId });
      const requestId = permissions[0]?.requestId ?? '';
      await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
      expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual([
        'permission: allow',
        'request: error -32601',
      ]);
    },
  );

  it('reaches the backend whole, with what nobody here knows', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const asked = {
      toolCall: {
        toolCallId: 'call-1',
        kind: 'dance',
        content: [
          { type: 'hologram', _meta: { a: null } },
          { type: 'diff', path: '/x', newText: 'ü', more: 1 },
        ],
        rawInput: { command: ['ls'] },
      },
      options: [
        { optionId: 'yes', name: 'Yes', kind: 'allow_once', hotkey: 'y', _meta: { style: { bold: true } } },
        { optionId: 'edit', name: '', kind: 'edit_first', fields: [{ id: 1 }] },
      ],
      _meta: { 'agent.example/reason': ['because'] },
    };
    const request = {
      jsonrpc: '2.0',
      id: 'x',
      method: 'session/request_permission',
      params: { sessionId: 'any', ...asked },
    };
    await instance.prompt(1, { step: 'rawLine', line: JSON.stringify(request) }, { step: 'silence' });
    const events = await readUntil(stream, isType('permission_requested'));
    const { permissions } = await owned.client.call('listPermissions', { instanceId: instance.instanceId });
    const { requestId, turnId, requestedAt, ...told } = permissions[0] ?? {};
    expect(told).toEqual(asked);
    expect(events.at(-1)?.event).toEqual({
      type: 'permission_requested',
      permission: { requestId, turnId, requestedAt, ...asked },
    });
  });

  it('is answered under the very id it came with, also one that JavaScript has no number for', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const command = ['sh', '-c', 'tee sent.jsonl | "$@"', 'sh', ...scriptedAgentCommand()];
    await instance.start({ command, approval: 'allow' });
    await using stream = await instance.attach(0);
    const params = '{"toolCall":{"id":5},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}';
    const ids = ['9007199254740993', '1.0', '-1e400', 'null', '"9007199254740993"'];
    await instance.prompt(
      1,
      ...ids.map((id) => ({
        step: 'rawLine' as const,
        line: `{"jsonrpc":"2.0","id":${id},"method":"session/request_permission","params":${params}}`,
      })),
      { step: 'rawLine', line: '{"jsonrpc":"2.0","id":18446744073709551615,"method":"_vendor/sing"}' },
      { step: 'rawLine', line: '{"jsonrpc":"2.0","id":0.10,"method":"fs/read_text_file","params":{}}' },
    );
    await readUntil(stream, isType('turn_ended'));
    await owned.client.call('stopAgent', { instanceId: instance.instanceId });
    const sent = (await readFile(owned.home.path('workspace', 'sent.jsonl'), 'utf8')).trim().split('\n');
    const answers = sent.filter((json) => !json.includes('"method"'));
    expect(answers.map((json) => /"id":(.*)\}$/.exec(json)?.[1])).toEqual([
      ...ids,
      '18446744073709551615',
      '0.10',
    ]);
    expect(answers.map((json) => Object.keys(z.looseObject({}).parse(JSON.parse(json)))[1])).toEqual([
      ...ids.map(() => 'result'),
      'error',
      'error',
    ]);
  });

  it('is granted by the first option whose kind allows, where everything is', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ approval: 'allow' });
    await using stream = await instance.attach(0);
    const options = [
      { optionId: 'allow', name: 'No!', kind: 'reject_once' },
      { optionId: 'proceed_always', name: 'Always', kind: 'allow_always' },
      { optionId: 'once', name: 'Once', kind: 'allow_once' },
    ] as const;
    await instance.prompt(1, { step: 'permission', title: 'x', options });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['permission: proceed_always']);
  });

  it('is asked of the backend even where everything is allowed, when no option allows', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ approval: 'allow' });
    await using stream = await instance.attach(0);
    const options = [{ optionId: 'allow', name: 'No', kind: 'reject_once' }] as const;
    await instance.prompt(1, { step: 'permission', title: 'x', options });
    await readUntil(stream, isType('permission_requested'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    const requestId = permissions[0]?.requestId ?? '';
    await owned.client.call('answerPermission', { instanceId, requestId, cancelled: true });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['permission: cancelled']);
  });
});

describe('an agent that asks and asks', () => {
  const PERMISSION = {
    method: 'session/request_permission',
    params: {
      toolCall: { toolCallId: 'c', rawInput: '…' },
      options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
    },
  };

  async function asking(
    owned: OwnedServer,
    approval: 'ask' | 'allow',
    request: object,
    ...[count, dots = 0]: readonly number[]
  ): Promise<InstanceOf> {
    const roots = [await owned.home.folder('workspace')];
    const instance = await InstanceOf.create(owned, { workspaceSourceRoots: roots });
    const command = [process.execPath, ASKING_AGENT, JSON.stringify(request), String(count), String(dots)];
    await instance.start({ command, approval });
    await instance.prompt(1, { step: 'silence' });
    return instance;
  }

  it.each([
    ['what nobody knows', { method: '_vendor/sing' }],
    ['for what is granted at once', PERMISSION],
    ['for files that are not there', { method: 'fs/read_text_file', params: { path: 'none' } }],
  ])('%s, and reads none of the answers, is ended', async (_what, request) => {
    await using owned = await ownedServer();
    const instance = await asking(owned, 'allow', request, 100_000);
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.find(isType('agent_error'))?.event).toMatchObject({
      code: 'agent_protocol_error',
      message: 'The agent asked on while 10000 answers waited for it to read them.',
    });
    expect(events.at(-1)?.event).toMatchObject({ expected: false });
  });

  it.each([
    [256, 1000, 0],
    // Of so many bytes together the answer of an enumeration can still tell.
    [15, 40, MIB],
  ])('has %i permission requests open at most, of %i with %i bytes each', async (most, asked, bytes) => {
    await using owned = await ownedServer();
    const instance = await asking(owned, 'ask', PERMISSION, asked, bytes);
    const { instanceId } = instance;
    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('turn_ended'), { acknowledge: true });
    expect(events.filter(isType('permission_requested'))).toHaveLength(most);
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    expect(permissions).toHaveLength(most);
    await owned.client.call('deleteInstance', { instanceId });
  });
});

describe('an agent that is of no more use', () => {
  const NOTIFICATION = {
    jsonrpc: '2.0',
    method: 'session/update',
    params: { update: { sessionUpdate: 'numbers', numbers: ['…'] } },
  };
  const nestedCall = (method: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      method,
      params: { update: { sessionUpdate: 'deep', in: '…' } },
    }).replace('"…"', '['.repeat(100_000) + ']'.repeat(100_000));
  const TOO_DEEP = 'The agent sent a message that is nested deeper than 1000 levels.';
  const GIVEN_UP: ReadonlyArray<readonly [string, Steps, string | null]> = [
    [
      'sends a line without an end that is longer than a frame',
      [{ step: 'rawLine', line: '', dots: 40 * MIB, ended: false }],
      `The agent sent a line of more than ${String(MAX_FRAME_BYTES)} bytes.`,
    ],
    [
      'sends a line that is longer than a frame when it is written again',
      [{ step: 'rawLine', line: JSON.stringify(NOTIFICATION).replace('"…"', `${'1e20,'.repeat(800_000)}0`) }],
      `The agent sent a line of more than ${String(MAX_FRAME_BYTES)} bytes.`,
    ],
    [
      'sends an update that is nested too deeply to be written again',
      [{ step: 'rawLine', line: nestedCall('session/update') }],
      TOO_DEEP,
    ],
    [
      'asks with what is nested too deeply',
      [{ step: 'rawLine', line: nestedCall('_vendor/sing').replace('{', '{"id":7,') }],
      TOO_DEEP,
    ],
    ['closes its output', [{ step: 'closeOutput' }], null],
    [
      'closes its input',
      [{ step: 'closeInput' }, { step: 'permission', title: 'are you there?' }],
      'The agent closed its input.',
    ],
  ];
  it.each(GIVEN_UP)('because it %s is ended, and its turn with it', async (_what, steps, message) => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const { agentPid } = await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, ...steps, { step: 'ignoreSigterm' }, { step: 'silence' });
    if (steps.some(({ step }) => step === 'closeInput')) {
      await readUntil(stream, isType('permission_requested'));
      const { instanceId } = instance;
      const { permissions } = await owned.client.call('listPermissions', { instanceId });
      const requestId = permissions[0]?.requestId ?? '';
      await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    }
    const events = await readUntil(stream, isType('agent_exited'));
    const ends = events.filter(({ event }) => !['turn_started', 'permission_requested'].includes(event.type));
    const error = message === null ? { code: 'agent_exited' } : { code: 'agent_protocol_error', message };
    expect(ends.map(({ event }) => event)).toMatchObject([
      ...(message === null ? [] : [{ type: 'agent_error', ...error, promptGeneration: 1 }]),
      { type: 'turn_ended', outcome: { kind: 'failed', stopReason: 'agent_exited', error } },
      { type: 'agent_exited', expected: false },
    ]);
    await waitForExit(agentPid, { withinMs: 60_000, reason: 'it is of no more use' });
    await instance.untilIt('another agent to be possible', ({ agentPid: pid }) => pid === null);
    await instance.start();
  });

  it('may end in the middle of a line', async () => {
    await using owned = await ownedServer();
    const events = await turnOf(
      owned,
      {},
      { step: 'say', text: 'whole' },
      { step: 'rawLine', line: '{"jsonrpc":"2.0","method":"session/upd', ended: false },
      { step: 'crash', exitCode: 3 },
    );
    expect(textsOf(events)).toEqual(['whole']);
    expect(events.find(isType('turn_ended'))?.event).toMatchObject({
      outcome: { error: { message: 'The agent ended during the turn (exit code 3).' } },
    });
    expect(await noiseIn(owned)).toEqual({ not_json: [1] });
  });

  it('may close its output while it starts', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const command = ['sh', '-c', 'exec 1>&-; echo $$ > pid; exec sleep 600'];
    await expect(instance.start({ command })).rejects.toMatchObject({
      code: 'agent_start_failed',
      message: 'The agent failed during initialize: it closed its output.',
    });
    const pid = Number(await readFile(owned.home.path('workspace', 'pid'), 'utf8'));
    expect(processIsAlive(pid)).toBe(false);
  });

  it('may close its input while it starts', async () => {
    await using owned = await ownedServer({ startBudgets: { initializeMs: 30_000, sessionMs: 30_000 } });
    const instance = await InstanceOf.create(owned);
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 0, result: { protocolVersion: 1 } });
    const program = `read -r line; exec 0<&-; echo $$ > pid; echo '${answer}'; exec sleep 600`;
    const command = ['sh', '-c', program];
    await expect(instance.start({ command })).rejects.toMatchObject({
      code: 'agent_protocol_error',
      message: 'The agent closed its input.',
      details: { phase: 'session' },
    });
    const pid = Number(await readFile(owned.home.path('workspace', 'pid'), 'utf8'));
    expect(processIsAlive(pid)).toBe(false);
  });
});
