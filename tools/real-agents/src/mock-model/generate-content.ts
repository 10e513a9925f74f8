import { z } from 'zod';
import type { AnswerFormat } from './answer-format.ts';
import type { Conversation } from './conversation.ts';

const Part = z.object({ text: z.string().optional() });

// Agents send much more; what is not needed is not looked at.
const GenerateContent = z.object({
  contents: z.array(z.object({ role: z.string().optional(), parts: z.array(Part).default([]) })),
  tools: z
    .array(z.object({ functionDeclarations: z.array(z.object({ name: z.string() })).default([]) }))
    .default([]),
});

/** Reads the body of Gemini's `POST /v1beta/models/<model>:streamGenerateContent`. Throws zod's error. */
export function readGenerateContent(body: unknown, model: string): Conversation {
  const { contents, tools } = GenerateContent.parse(body);
  return {
    model,
    // Results of tools come as the user's, but without a text.
    messages: contents.map(({ role, parts }) => ({
      speaker: role === 'model' ? 'assistant' : 'user',
      text: parts.map(({ text }) => text ?? '').join('\n'),
    })),
    tools: tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name)),
  };
}

/** What an answer cost, in tokens; always the same, so that tests can tell it. */
const USAGE = { promptTokenCount: 1_200, candidatesTokenCount: 40, totalTokenCount: 1_240 };

/** A streamed answer of Gemini's API. */
export class GeneratedContent implements AnswerFormat {
  readonly farewell = '';
  readonly #id: string;
  readonly #model: string;
  #tools = 0;

  /** `id` is unique among the answers. */
  constructor({ id, model }: { readonly id: string; readonly model: string }) {
    this.#id = id;
    this.#model = model;
  }

  opening(): readonly object[] {
    return [];
  }

  text(text: string): object {
    return this.#part({ text });
  }

  toolCall(name: string, args: Readonly<Record<string, unknown>>): object {
    this.#tools += 1;
    return this.#part({ functionCall: { id: `call_${this.#id}_${String(this.#tools)}`, name, args } });
  }

  closing(): readonly object[] {
    return [this.#part({ text: '' }, { finishReason: 'STOP' })];
  }

  #part(part: object, finish: object = {}): object {
    const candidate = { index: 0, content: { role: 'model', parts: [part] }, ...finish };
    return {
      candidates: [candidate],
      usageMetadata: USAGE,
      modelVersion: this.#model,
      responseId: this.#id,
    };
  }
}
