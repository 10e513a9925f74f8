import type { MockModel } from '../../src/mock-model/mock-model.ts';
import { MODEL_ID } from '../../src/mock-model/mock-model.ts';

/** A streamed answer, as far as it was read. */
export interface ReadAnswer {
  readonly status: number;
  /** The body as it came. */
  readonly raw: string;
  readonly texts: readonly string[];
  readonly tools: readonly { readonly name: string; readonly arguments: string }[];
  readonly finishReasons: readonly string[];
}

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

interface Chunk {
  readonly choices: readonly { readonly delta: Delta; readonly finish_reason: string | null }[];
}

const BASH = { type: 'function', function: { name: 'bash', parameters: { type: 'object' } } };

/** Calls the model as an agent does, with these messages. */
export async function callModel(
  model: MockModel,
  messages: readonly object[],
  options: { readonly tools?: readonly object[]; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const { tools = [BASH], signal } = options;
  return await fetch(`${model.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL_ID, stream: true, messages, ...(tools.length > 0 ? { tools } : {}) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Calls the model and reads its answer to the end. */
export async function readAnswer(...call: Parameters<typeof callModel>): Promise<ReadAnswer> {
  const response = await callModel(...call);
  const raw = await response.text();
  const choices = raw
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tests look at what they expect of it
    .flatMap((event) => (JSON.parse(event.slice('data: '.length)) as Chunk).choices);
  return {
    status: response.status,
    raw,
    texts: choices.map(({ delta }) => delta.content ?? '').filter((content) => content !== ''),
    tools: choices.flatMap(({ delta }) => (delta.tool_calls ?? []).map((tool) => tool.function)),
    finishReasons: choices.flatMap(({ finish_reason: reason }) => reason ?? []),
  };
}
