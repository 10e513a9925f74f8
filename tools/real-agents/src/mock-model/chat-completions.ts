import { z } from 'zod';
import type { AnswerFormat } from './answer-format.ts';
import type { Conversation, Message } from './conversation.ts';

const TextPart = z.object({ text: z.string().optional() });

const ChatMessage = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(TextPart)]).nullish(),
});

// Agents send much more; what is not needed is not looked at.
const ChatRequest = z.object({
  model: z.string(),
  stream: z.literal(true, 'this endpoint only streams chat completions'),
  messages: z.array(ChatMessage),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
});

/** Reads the body of OpenAI's `POST /v1/chat/completions`. Throws zod's error. */
export function readChatRequest(body: unknown): Conversation {
  const { model, messages, tools } = ChatRequest.parse(body);
  return { model, messages: messages.map(toMessage), tools: tools.map((tool) => tool.function.name) };
}

function toMessage({ role, content }: z.infer<typeof ChatMessage>): Message {
  const speaker = role === 'user' || role === 'assistant' ? role : 'nobody';
  const parts = typeof content === 'string' ? [{ text: content }] : (content ?? []);
  return { speaker, text: parts.map(({ text }) => text ?? '').join('\n') };
}

/** What an answer cost, in tokens; always the same, so that tests can tell it. */
const USAGE = { prompt_tokens: 1_200, completion_tokens: 40, total_tokens: 1_240 };

/** A streamed chat completion. */
export class ChatCompletion implements AnswerFormat {
  readonly farewell = 'data: [DONE]\n\n';
  readonly #base: object;
  readonly #id: string;
  #tools = 0;

  /** `id` is unique among the answers; `created` is in seconds since 1970. */
  constructor(facts: { readonly id: string; readonly model: string; readonly created: number }) {
    const { id, model, created } = facts;
    this.#id = id;
    this.#base = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };
  }

  opening(): readonly object[] {
    return [this.#delta({ role: 'assistant', content: '' })];
  }

  text(content: string): object {
    return this.#delta({ content });
  }

  toolCall(name: string, input: Readonly<Record<string, unknown>>): object {
    const index = this.#tools;
    this.#tools += 1;
    const id = `call_${this.#id}_${String(index)}`;
    const call = { name, arguments: JSON.stringify(input) };
    return this.#delta({ tool_calls: [{ index, id, type: 'function', function: call }] });
  }

  closing(): readonly object[] {
    const finishReason = this.#tools > 0 ? 'tool_calls' : 'stop';
    return [this.#delta({}, finishReason), { ...this.#base, choices: [], usage: USAGE }];
  }

  #delta(delta: object, finishReason: string | null = null): object {
    return { ...this.#base, choices: [{ index: 0, delta, finish_reason: finishReason }] };
  }
}
