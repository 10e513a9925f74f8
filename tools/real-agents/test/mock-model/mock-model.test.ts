import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@holdfast/testbeds';
import { MODEL_ID, startMockModel, type MockModel } from '../../src/mock-model/mock-model.ts';
import { chunkTexts, modelScript } from '../../src/mock-model/model-script.ts';
import { callModel, readAnswer } from './model-client.ts';

let model: MockModel;

beforeEach(async () => {
  model = await startMockModel();
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
});

const user = (content: unknown): object => ({ role: 'user', content });

describe('an answer', () => {
  it('is streamed as the script of the prompt says', async () => {
    const prompt = `Please count.\n${modelScript([{ say: 'Well: ' }, { chunks: { count: 3, everyMs: 1 } }])}\nThank you.`;
    const answer = await readAnswer(model, [{ role: 'system', content: 'Be good.' }, user(prompt)]);
    expect(answer).toMatchObject({ status: 200, tools: [], finishReasons: ['stop'] });
    expect(answer.texts).toEqual(['Well: ', 'chunk 1 of 3\n', 'chunk 2 of 3\n', 'chunk 3 of 3\n']);
    expect(answer.texts.slice(1)).toEqual(chunkTexts(3));
    expect(answer.raw).toMatch(/"usage":\{"prompt_tokens":1200,.*\}\n\ndata: \[DONE\]\n\n$/);
    expect(model.calls).toEqual([
      { kind: 'scripted', answer: 0, answersBefore: 0, textsSent: 4, state: 'answered', why: null },
    ]);
  });

  it('calls tools, and the next answer follows their results', async () => {
    const prompt = user([
      { type: 'text', text: 'Look around.' },
      {
        type: 'text',
        text: modelScript(
          [{ say: 'I look.' }, { tool: 'bash', input: { command: 'ls' } }],
          [{ say: 'Done.' }],
        ),
      },
    ]);
    const first = await readAnswer(model, [prompt]);
    expect(first).toMatchObject({
      texts: ['I look.'],
      tools: [{ name: 'bash', arguments: '{"command":"ls"}' }],
      finishReasons: ['tool_calls'],
    });
    const history = [
      prompt,
      { role: 'assistant', content: 'I look.', tool_calls: [] },
      { role: 'tool', content: 'a b' },
    ];
    expect(await readAnswer(model, history)).toMatchObject({ texts: ['Done.'], finishReasons: ['stop'] });
    expect(model.calls.map(({ answer }) => answer)).toEqual([0, 1]);
  });

  it('is that of the newest script', async () => {
    const history = [
      user(modelScript([{ say: 'old' }])),
      { role: 'assistant', content: 'old' },
      user(modelScript([{ say: 'new' }])),
    ];
    expect((await readAnswer(model, history)).texts).toEqual(['new']);
  });

  it('waits at a gate until it is opened', async () => {
    const answer = readAnswer(model, [user(modelScript([{ say: 'a' }, { gate: 'go' }, { say: 'b' }]))]);
    await until(() => model.calls[0]?.state === 'at_gate', { reason: 'the gate', withinMs: 60_000 });
    expect(model.calls[0]?.textsSent).toBe(1);
    model.openGate('another');
    model.openGate('go');
    expect((await answer).texts).toEqual(['a', 'b']);
    const later = await readAnswer(model, [user(modelScript([{ gate: 'go' }, { say: 'at once' }]))]);
    expect(later.texts).toEqual(['at once']);
  });

  it.each([[{ gate: 'never' }], [{ chunks: { count: 1_000, everyMs: 600_000 } }]] as const)(
    'is cut when its reader goes away: %j',
    async (part) => {
      const reading = new AbortController();
      const response = await callModel(model, [user(modelScript([part]))], { signal: reading.signal });
      expect(response.status).toBe(200);
      reading.abort();
      await until(() => model.calls[0]?.state === 'cut', { reason: 'the cut', withinMs: 60_000 });
    },
  );

  it('is given at once, without a script, to a call without tools', async () => {
    const prompt = user(modelScript([{ gate: 'never' }]));
    expect((await readAnswer(model, [prompt], { tools: [] })).texts).toEqual(['A side answer']);
    expect(model.calls[0]).toMatchObject({ kind: 'side', state: 'answered' });
  });
});

describe('a refusal', () => {
  const once = modelScript([{ say: 'once' }]);

  it.each([
    ['without a script', [user('hello')], 'no message of the user holds a script'],
    [
      'beyond the script',
      [user(once), { role: 'assistant', content: 'once' }, { role: 'tool', content: '' }],
      'all 1 answers of the script were given',
    ],
    [
      'for a tool that is not there',
      [user(modelScript([{ tool: 'dance', input: {} }]))],
      'the agent does not offer dance',
    ],
    ['for a script that is no JSON', [user('model: {')], 'cannot be followed'],
    ['for an unknown part', [user('model: {"answers":[[{"sing":1}]]}')], 'cannot be followed'],
    ['for messages that are none', [{ content: 'no role' }], 'role'],
  ])('is said %s', async (_why, messages, message) => {
    const answer = await readAnswer(model, messages);
    expect(answer.status).toBe(400);
    expect(answer.raw).toContain(message);
    expect(model.calls).toEqual([expect.objectContaining({ kind: 'refused', state: 'refused' })]);
    expect(model.calls[0]?.why).toContain(message);
  });

  it('is said to a call that does not stream', async () => {
    const response = await fetch(`${model.origin}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: MODEL_ID, messages: [user(once)] }),
    });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('only streams')]);
  });
});

describe('the endpoint', () => {
  it('lists its model', async () => {
    const response = await fetch(`${model.origin}/v1/models`);
    expect(await response.json()).toMatchObject({
      object: 'list',
      data: [{ id: MODEL_ID, object: 'model' }],
    });
  });

  it('notes what it does not have, and lets nothing out as a proxy', async () => {
    expect((await fetch(`${model.origin}/v1/responses`, { method: 'POST' })).status).toBe(404);
    const socket = connect(Number(new URL(model.origin).port), '127.0.0.1');
    socket.write('CONNECT models.example:443 HTTP/1.1\r\nhost: models.example:443\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
    expect(model.strangers).toEqual(['POST /v1/responses', 'CONNECT models.example:443']);
    expect(model.calls).toEqual([]);
  });
});
