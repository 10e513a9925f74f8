import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
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

describe('a turn', () => {
  it('echoes a prompt that holds no script', async () => {
    const answer = await client.prompt(session, 'hello there');
    expect(client.texts).toEqual(['hello there']);
    expect(answer.result).toEqual({ stopReason: 'end_turn' });
  });

  it('does its steps in order and answers after the last of their updates', async () => {
    const answer = await client.prompt(
      session,
      script(
        { step: 'thought', text: 'hm' },
        { step: 'chunks', count: 3, everyMs: 5 },
        { step: 'toolCall', title: 'Look', kind: 'read' },
        { step: 'usage', used: 10, size: 200 },
        { step: 'say', text: 'done' },
      ),
    );
    expect(client.updates.map((update) => update.sessionUpdate)).toEqual([
      'agent_thought_chunk',
      'agent_message_chunk',
      'agent_message_chunk',
      'agent_message_chunk',
      'tool_call',
      'tool_call_update',
      'tool_call_update',
      'usage_update',
      'agent_message_chunk',
    ]);
    expect(client.texts.filter((text) => text !== undefined)).toEqual([
      'hm',
      'chunk 1/3',
      'chunk 2/3',
      'chunk 3/3',
      'done',
    ]);
    expect(client.updates.map((update) => update['status']).filter(Boolean)).toEqual([
      'pending',
      'in_progress',
      'completed',
    ]);
    expect(client.messages.at(-1)).toEqual(answer);
    expect(answer.result).toEqual({ stopReason: 'end_turn' });
  });

  it('finds a script below other text', async () => {
    await client.prompt(session, `Please do this.\n${script({ step: 'say', text: 'did it' })}`);
    expect(client.texts).toEqual(['did it']);
  });

  it('pads chunks to the size that is asked for', async () => {
    await client.prompt(session, script({ step: 'chunks', count: 2, bytes: 1000, text: 'part' }));
    expect(client.texts.map((text) => text?.length)).toEqual([1000, 1000]);
    expect(client.texts[1]).toMatch(/^part 2\/2\.+$/);
  });

  it.each([
    [{ step: 'refuse' } as const, 'refusal'],
    [{ step: 'end', stopReason: 'max_tokens' } as const, 'max_tokens'],
  ])('ends with the stop reason of %j and does no further step', async (step, stopReason) => {
    const answer = await client.prompt(session, script(step, { step: 'say', text: 'never' }));
    expect(answer.result).toEqual({ stopReason });
    expect(client.texts).toEqual([]);
  });

  it('fails with the error of a fail step', async () => {
    const answer = await client.prompt(session, script({ step: 'fail', code: -32050, message: 'no luck' }));
    expect(answer.error).toEqual({ code: -32050, message: 'no luck' });
  });

  it('is gated by files and reports by files', async () => {
    const prompt = client.startPrompt(
      session,
      script(
        { step: 'touch', file: 'started', content: 'yes' },
        { step: 'waitFor', file: home.path('go') },
        { step: 'say', text: 'went' },
      ),
    );
    await until(() => existsSync(home.path('started')), { reason: 'the agent to start', withinMs: 60_000 });
    expect(await readFile(home.path('started'), 'utf8')).toBe('yes');
    expect(client.texts).toEqual([]);
    writeFileSync(home.path('go'), '');
    expect((await client.answerTo(prompt)).result).toEqual({ stopReason: 'end_turn' });
    expect(client.texts).toEqual(['went']);
  });

  it('sends late updates after its answer', async () => {
    const answer = await client.prompt(session, script({ step: 'late', afterMs: 20, text: 'by the way' }));
    await client.said('by the way');
    expect(client.messages.findIndex(({ id }) => id === answer.id)).toBe(client.messages.length - 2);
  });

  it('goes on by itself after its answer, until it is cancelled, and says so', async () => {
    const answer = await client.prompt(
      session,
      script({
        step: 'afterwards',
        saysIdle: true,
        steps: [{ step: 'say', text: 'awake' }, { step: 'silence' }],
      }),
    );
    await client.said('awake');
    expect(client.messages.findIndex(({ id }) => id === answer.id)).toBe(client.messages.length - 2);
    client.cancel(session);
    const idle = { sessionUpdate: 'state_update', state: 'idle', stopReason: 'cancelled' };
    await until(() => client.updates.find(({ sessionUpdate }) => sessionUpdate === 'state_update'), {
      reason: 'the agent to say that it is idle',
      withinMs: 60_000,
    });
    expect(client.updates.at(-1)).toEqual(idle);
  });

  it('writes noise, unknown updates and standard error as told', async () => {
    const update = { sessionUpdate: 'brain_scan', depth: 3, nested: { kept: true } };
    await client.prompt(
      session,
      script(
        { step: 'rawLine', line: 'this is not JSON {' },
        { step: 'unknownUpdate', update },
        { step: 'stderr', text: 'mind the gap' },
      ),
    );
    expect(client.program.lines()).toContain('this is not JSON {');
    expect(client.updates).toEqual([update]);
    await client.program.nextLine('mind the gap', { from: 'stderr', withinMs: 60_000 });
  });

  it('sends requests of any method and says what came back', async () => {
    const prompt = client.startPrompt(
      session,
      script({ step: 'request', method: 'fs/sing', params: { a: 1 } }),
    );
    const request = await client.message(({ method }) => method === 'fs/sing', 'the request');
    expect(request.params).toEqual({ a: 1 });
    client.send({ id: request.id, error: { code: -32601, message: 'no' } });
    await client.answerTo(prompt);
    expect(client.texts).toEqual(['request: error -32601']);
  });

  it('says what its environment holds', async () => {
    await client.prompt(
      session,
      script({ step: 'environment', name: 'SCRIPTED_AGENT_START' }, { step: 'environment', name: 'PATH' }),
    );
    expect(client.texts[0]).toBe('SCRIPTED_AGENT_START is not set');
    expect(client.texts[1]).toMatch(/^PATH=.+/);
  });

  it.each([
    ['script: {"steps":[', 'The script is not JSON'],
    ['script: {}', '"steps" must be list'],
    ['script: {"steps":[{"step":"dance"}]}', 'Step 1 must be'],
    [
      'script: {"steps":[{"step":"refuse"},{"step":"delay"}]}',
      'Step 2 (delay): the field "ms" must be count',
    ],
    ['script: {"steps":[{"step":"say","text":"a","tone":"low"}]}', 'no field "tone"'],
  ])('refuses the script %s', async (text, message) => {
    const answer = await client.prompt(session, text);
    expect(answer.error?.code).toBe(-32602);
    expect(answer.error?.message).toContain(message);
  });
});

describe('session/cancel', () => {
  it.each([
    { step: 'silence' },
    { step: 'delay', ms: 600_000 },
    { step: 'waitFor', file: 'never' },
    { step: 'chunks', count: 1000, everyMs: 600_000 },
    { step: 'flood', count: 1_000_000, bytes: 1 },
  ] as const)('ends $step at once', async (step) => {
    const prompt = client.startPrompt(session, script({ step: 'say', text: 'started' }, step));
    await client.said('started');
    client.cancel(session);
    expect((await client.answerTo(prompt)).result).toEqual({ stopReason: 'cancelled' });
  });

  it('is overheard after ignoreCancel', async () => {
    const prompt = client.startPrompt(
      session,
      script({ step: 'ignoreCancel' }, { step: 'say', text: 'started' }, { step: 'waitFor', file: 'go' }),
    );
    await client.said('started');
    client.cancel(session);
    writeFileSync(home.path('go'), '');
    expect((await client.answerTo(prompt)).result).toEqual({ stopReason: 'end_turn' });
  });

  it('leaves the session usable', async () => {
    const prompt = client.startPrompt(session, script({ step: 'silence' }));
    client.cancel(session);
    await client.answerTo(prompt);
    expect((await client.prompt(session, 'again')).result).toEqual({ stopReason: 'end_turn' });
  });
});
