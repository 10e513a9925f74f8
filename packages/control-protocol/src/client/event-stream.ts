import { WebSocket, type RawData } from 'ws';
import { MAX_FRAME_BYTES, STREAM_CLOSE, StreamMessage, type StreamRequest } from '../events/stream.ts';
import { BASE_PATH } from '../operations/operation.ts';
import { fillPath } from '../operations/path.ts';
import { EVENTS_PATH } from '../operations/table.ts';
import { NoAnswerError, UnreadableAnswerError } from './client-errors.ts';
import { parseJson, readError } from './read-answer.ts';

/** The answer of a stream's start. */
export type Attached = Extract<StreamMessage, { type: 'attached' }>;

/** What a stream yields after that. */
export type StreamDelivery = Exclude<StreamMessage, { type: 'attached' }>;

/** How a stream ended: a code of `STREAM_CLOSE`, or 1006 when the connection was lost. */
export interface StreamEnd {
  readonly code: number;
  readonly reason: string;
}

/** Which stream to open, and as whom. */
export interface OpenStream {
  readonly endpoint: string;
  readonly credential: string | undefined;
  readonly instanceId: string;
  readonly after: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const OPERATION = 'openEvents';
// The envelope around the largest event comes on top of it.
const MAX_PAYLOAD_BYTES = MAX_FRAME_BYTES + 64 * 1024;
// The server pings every 15 s; a peer that is silent for three of them is gone.
const SILENCE_LIMIT_MS = 45_000;
// Messages read ahead of the consumer; beyond them the socket is left unread, so the server's window does its work.
const READ_AHEAD = 4;
// Frames that wait are joined up to about so much: whoever stores them pays for a durable commit each time.
const JOINED_EVENTS = 250;
const JOINED_BYTES = 1024 * 1024;

/**
 * The events of one instance. Iterate it once; it ends when the stream closes, and `ended` says why. Nothing is
 * acknowledged by reading: call {@link EventStream.acknowledge} after the events are durably stored.
 */
export class EventStream implements AsyncIterable<StreamDelivery>, AsyncDisposable {
  readonly attached: Attached;
  readonly ended: Promise<StreamEnd>;
  readonly #socket: WebSocket;
  readonly #deliveries: AsyncIterator<StreamDelivery, undefined>;

  private constructor(socket: WebSocket, attached: Attached, deliveries: DeliveryQueue) {
    this.attached = attached;
    this.ended = deliveries.ended;
    this.#socket = socket;
    this.#deliveries = deliveries;
  }

  /** See `ControlClient.openEvents`. */
  static async open(options: OpenStream): Promise<EventStream> {
    const url = new URL(
      BASE_PATH + fillPath(EVENTS_PATH, { instanceId: options.instanceId }),
      options.endpoint,
    );
    url.protocol = 'ws:';
    url.searchParams.set('after', String(options.after));
    options.signal?.throwIfAborted();
    const socket = new WebSocket(url, {
      headers: options.credential === undefined ? {} : { Authorization: `Bearer ${options.credential}` },
      maxPayload: MAX_PAYLOAD_BYTES,
      perMessageDeflate: false,
      handshakeTimeout: options.timeoutMs,
    });
    const queue = new DeliveryQueue(socket);
    const onAbort = (): void => {
      socket.terminate();
    };
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await handshake(socket, options);
      const first = await queue.first(options.timeoutMs);
      if (first?.type === 'attached') return new EventStream(socket, first, queue);
      const { code, reason } = await closeEarly(socket, queue);
      throw new UnreadableAnswerError({
        endpoint: options.endpoint,
        operation: OPERATION,
        why: `the stream closed before it was attached (${String(code)} ${reason})`,
      });
    } catch (error) {
      options.signal?.throwIfAborted();
      throw error;
    } finally {
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamDelivery, undefined> {
    return this.#deliveries;
  }

  /** Everything up to `seq` is durably stored. A stream that has closed meanwhile ignores it: the next one tells. */
  acknowledge(seq: number): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ type: 'ack', seq } satisfies StreamRequest));
  }

  /** Closes the stream; the instance becomes detached. */
  async close(): Promise<void> {
    this.#socket.close(1000);
    this.#socket.resume();
    const timer = setTimeout(() => {
      this.#socket.terminate();
    }, 1000);
    await this.ended;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

async function closeEarly(socket: WebSocket, queue: DeliveryQueue): Promise<StreamEnd> {
  socket.terminate();
  return await queue.ended;
}

function handshake(socket: WebSocket, { endpoint, timeoutMs }: OpenStream): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.on('error', (error) => {
      reject(new NoAnswerError({ endpoint, operation: OPERATION, why: error.message, cause: error }));
    });
    socket.once('unexpected-response', (request, response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text = (text + chunk).slice(0, 64 * 1024);
      });
      const timer = setTimeout(() => {
        request.destroy();
      }, timeoutMs);
      // However it ends: whole, broken off, or after too long a time.
      response.once('close', () => {
        clearTimeout(timer);
        request.destroy();
        const why = `unexpected status ${String(response.statusCode)}`;
        reject(readError(text) ?? new UnreadableAnswerError({ endpoint, operation: OPERATION, why }));
      });
    });
  });
}

/** Messages between the socket and their reader: a few are read ahead, then the socket waits. */
class DeliveryQueue implements AsyncIterator<StreamDelivery, undefined> {
  readonly ended: Promise<StreamEnd>;
  readonly #socket: WebSocket;
  readonly #messages: StreamMessage[] = [];
  /** The size of the newest message, with all that was joined to it. */
  #newestBytes = 0;
  #wake: (() => void) | undefined;
  /** Nothing more is taken: behind what was not understood the rest would have a gap. */
  #over = false;
  #silence: NodeJS.Timeout | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      this.#receive(data);
    });
    socket.on('open', () => {
      this.#heard();
    });
    socket.on('ping', () => {
      this.#heard();
    });
    this.ended = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        clearTimeout(this.#silence);
        this.#over = true;
        this.#wake?.();
        resolve({ code, reason: reason.toString('utf8') });
      });
    });
  }

  /** The first message, or undefined when the stream closed or the time ran out before it. */
  async first(timeoutMs: number): Promise<StreamMessage | undefined> {
    const timer = setTimeout(() => {
      this.#socket.terminate();
    }, timeoutMs);
    try {
      return await this.#take();
    } finally {
      clearTimeout(timer);
    }
  }

  async next(): Promise<IteratorResult<StreamDelivery, undefined>> {
    const message = await this.#take();
    if (message === undefined) return { done: true, value: undefined };
    if (message.type !== 'attached') return { done: false, value: message };
    this.#violated('a second "attached" message');
    return { done: true, value: undefined };
  }

  async #take(): Promise<StreamMessage | undefined> {
    while (this.#messages.length === 0 && !this.#over) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#messages.shift();
    if (this.#messages.length < READ_AHEAD && this.#socket.isPaused) this.#socket.resume();
    return message;
  }

  #receive(data: RawData): void {
    if (this.#over) return;
    this.#heard();
    const parsed = StreamMessage.safeParse(parseFrame(data));
    if (!parsed.success) {
      this.#violated('an unreadable message');
      return;
    }
    this.#keep(parsed.data, Buffer.isBuffer(data) ? data.length : 0);
    if (this.#messages.length >= READ_AHEAD) this.#socket.pause();
    this.#wake?.();
  }

  #keep(message: StreamMessage, bytes: number): void {
    const newest = this.#messages.at(-1);
    if (
      message.type === 'events' &&
      newest?.type === 'events' &&
      newest.events.length + message.events.length <= JOINED_EVENTS &&
      this.#newestBytes + bytes <= JOINED_BYTES
    ) {
      newest.events.push(...message.events);
      this.#newestBytes += bytes;
    } else {
      this.#messages.push(message);
      this.#newestBytes = bytes;
    }
  }

  #violated(what: string): void {
    this.#over = true;
    this.#wake?.();
    this.#socket.close(STREAM_CLOSE.protocolViolation, what);
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      // A paused socket hears no pings; its silence is our own.
      if (this.#socket.isPaused) this.#heard();
      else this.#socket.terminate();
    }, SILENCE_LIMIT_MS).unref();
  }
}

function parseFrame(data: RawData): unknown {
  // ws hands text frames over as one Buffer unless told otherwise.
  return Buffer.isBuffer(data) ? parseJson(data.toString('utf8')) : undefined;
}
