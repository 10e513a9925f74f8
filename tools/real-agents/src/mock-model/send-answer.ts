import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { AnswerFormat } from './answer-format.ts';
import type { Gates } from './gates.ts';
import { chunkTexts, type Part } from './model-script.ts';

/** What sending an answer needs, and whom it tells how far it is. */
export interface SendAnswerOptions {
  readonly format: AnswerFormat;
  readonly gates: Gates;
  /** Aborts when the reader is gone. */
  readonly signal: AbortSignal;
  readonly onText: () => void;
  readonly onGate: (waiting: boolean) => void;
}

/** Streams an answer as server-sent events, no faster than it is read. Rejects with the signal's reason when that aborts. */
export async function sendAnswer(
  response: ServerResponse,
  parts: readonly Part[],
  { format, gates, signal, onText, onGate }: SendAnswerOptions,
): Promise<void> {
  const send = async (chunk: object): Promise<void> => {
    signal.throwIfAborted();
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await once(response, 'drain', { signal });
  };
  const say = async (text: string): Promise<void> => {
    await send(format.text(text));
    onText();
  };

  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const chunk of format.opening()) await send(chunk);
  for (const part of parts) {
    if ('say' in part) await say(part.say);
    else if ('tool' in part) await send(format.toolCall(part.tool, part.input));
    else if ('gate' in part) {
      onGate(true);
      await gates.passed(part.gate, signal);
      signal.throwIfAborted();
      onGate(false);
    } else {
      for (const text of chunkTexts(part.chunks.count)) {
        await say(text);
        await wait(part.chunks.everyMs, undefined, { signal });
      }
    }
  }
  for (const chunk of format.closing()) await send(chunk);
  response.end(format.farewell);
}
