import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startMockModel, type MockModel } from '../../src/mock-model/mock-model.ts';
import { modelScript } from '../../src/mock-model/model-script.ts';

let model: MockModel;

beforeEach(async () => {
  model = await startMockModel();
});

afterEach(async () => {
  await model[Symbol.asyncDispose]();
});

interface Piece {
  readonly candidates: readonly {
    readonly content: { readonly parts: readonly Readonly<Record<string, unknown>>[] };
    readonly finishReason?: string;
  }[];
  readonly modelVersion: string;
}

const user = (...texts: string[]): object => ({ role: 'user', parts: texts.map((text) => ({ text })) });

async function generate(contents: readonly object[], tools = ['run']): Promise<Response> {
  return await fetch(`${model.origin}/v1beta/models/gemini-9:streamGenerateContent?alt=sse`, {
    method: 'POST',
    body: JSON.stringify({
      contents,
      ...(tools.length > 0 ? { tools: [{ functionDeclarations: tools.map((name) => ({ name })) }] } : {}),
    }),
  });
}

async function readPieces(response: Response): Promise<Piece[]> {
  const events = (await response.text()).trimEnd().split('\n\n');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tests look at what they expect of it
  return events.map((event) => JSON.parse(event.replace('data: ', '')) as Piece);
}

const partsOf = (pieces: readonly Piece[]): unknown[] =>
  pieces.flatMap(({ candidates }) => candidates.flatMap(({ content }) => content.parts));

describe('an answer in the dialect of Gemini', () => {
  it('is streamed as the script of the prompt says', async () => {
    const prompt = user('Count.', modelScript([{ say: 'a' }, { chunks: { count: 2, everyMs: 0 } }]));
    const pieces = await readPieces(await generate([user('About this place.'), prompt]));
    const texts = ['a', 'chunk 1 of 2\n', 'chunk 2 of 2\n', ''];
    expect(partsOf(pieces)).toEqual(texts.map((text) => ({ text })));
    expect(pieces.map(({ candidates }) => candidates[0]?.finishReason)).toEqual([
      undefined,
      undefined,
      undefined,
      'STOP',
    ]);
    expect(pieces[0]?.modelVersion).toBe('gemini-9');
    expect(model.calls).toEqual([
      { kind: 'scripted', answer: 0, answersBefore: 0, textsSent: 3, state: 'answered', why: null },
    ]);
  });

  it('calls tools, and the next answer follows their results', async () => {
    const prompt = user(modelScript([{ tool: 'run', input: { command: 'ls' } }], [{ say: 'Done.' }]));
    const first = partsOf(await readPieces(await generate([prompt])));
    expect(first[0]).toEqual({
      functionCall: { id: expect.any(String), name: 'run', args: { command: 'ls' } },
    });
    const result = { functionResponse: { name: 'run', response: { output: 'a b' } } };
    const history = [prompt, { role: 'model', parts: [first[0]] }, { role: 'user', parts: [result] }];
    expect(partsOf(await readPieces(await generate(history)))[0]).toEqual({ text: 'Done.' });
  });

  it('is given at once, without a script, to a call without tools', async () => {
    const pieces = await readPieces(await generate([user(modelScript([{ gate: 'never' }]))], []));
    expect(partsOf(pieces)[0]).toEqual({ text: 'A side answer' });
  });

  it.each([
    ['a call without a script', [user('hello')]],
    ['contents that are none', [{ parts: 'no list' }]],
  ])('is refused to %s', async (_what, contents) => {
    expect((await generate(contents)).status).toBe(400);
    expect(model.calls).toEqual([expect.objectContaining({ kind: 'refused' })]);
  });

  it('is only streamed', async () => {
    const url = `${model.origin}/v1beta/models/gemini-9:generateContent`;
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(model.strangers).toEqual(['POST /v1beta/models/gemini-9:generateContent']);
  });
});
