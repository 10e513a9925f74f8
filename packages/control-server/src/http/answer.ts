import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ANSWER_MEDIA_TYPES, type AnswerKind, type ControlError } from '@holdfast/control-protocol';
import { pause, type Clock } from '../ports/clock.ts';

/** An answer before it is sent: a value to write as JSON, or text or bytes as they are; a body of undefined is none. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly answers: AnswerKind;
  readonly noStore: boolean;
}

/** The answer that an error is. */
export function errorAnswer(error: ControlError): Answer {
  return { status: error.status, body: error.toEnvelope(), answers: 'json', noStore: false };
}

/** How long, and for how many bytes, what a refused peer still sends is taken, so that it gets to read why. */
const LINGER = { ms: 1000, bytes: 4 * 1024 * 1024 };

/** Sends an answer. When the request was not read to its end, the connection does not live on. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  clock: Clock,
): Promise<void> {
  const content = contentOf(answer);
  const isReadToEnd = request.complete;
  response.writeHead(answer.status, {
    ...(answer.body === undefined
      ? {}
      : {
          'Content-Type': ANSWER_MEDIA_TYPES[answer.answers],
          'Content-Length': String(Buffer.byteLength(content)),
        }),
    ...(answer.noStore ? { 'Cache-Control': 'no-store' } : {}),
    ...(isReadToEnd ? {} : { Connection: 'close' }),
  });
  if (isReadToEnd) {
    response.end(content);
    return;
  }
  // Closing while the peer still sends would reset the connection, and with it the answer. The end comes a little later.
  response.write(content);
  await drain(request, clock);
  response.end();
}

function contentOf({ body }: Answer): string | Uint8Array {
  if (body === undefined) return '';
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
}

async function drain(request: IncomingMessage, clock: Clock): Promise<void> {
  const over = new AbortController();
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER.bytes) over.abort();
  });
  for (const event of ['end', 'close', 'error']) {
    request.once(event, () => {
      over.abort();
    });
  }
  request.resume();
  await pause(clock, LINGER.ms, over.signal);
}

/** Answers where there is no response to write to: the answer goes out on the bare socket, which is closed then. */
export function answerOnSocket(socket: Duplex, answer: Answer): void {
  const body = JSON.stringify(answer.body);
  const head = [
    `HTTP/1.1 ${String(answer.status)} ${STATUS_CODES[answer.status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${String(Buffer.byteLength(body))}`,
    'Connection: close',
  ];
  // Whether the peer closes its side as well is not waited for.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => {
    socket.destroy();
  });
}
