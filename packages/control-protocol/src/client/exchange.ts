import http from 'node:http';
import { NoAnswerError, UnreadableAnswerError } from './client-errors.ts';

/** One HTTP request, with every bound that keeps a hostile or stuck peer from holding its caller. */
export interface ExchangeRequest {
  readonly operation: string;
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  readonly method: string;
  readonly path: string;
  readonly credential: string | undefined;
  readonly body: string | undefined;
  /** From the call to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly signal: AbortSignal | undefined;
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Sends one request on a connection of its own and reads the answer whole. Rejects with {@link NoAnswerError} when
 * nothing came back, with {@link UnreadableAnswerError} when bytes came that are no complete answer, and with the
 * signal's reason when that aborts first.
 */
export function exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
  const { operation, endpoint, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(abortReason(signal));
      return;
    }
    const outgoing = http.request(new URL(request.path, endpoint), {
      method: request.method,
      agent: false,
      headers: {
        ...(request.credential === undefined ? {} : { Authorization: `Bearer ${request.credential}` }),
        ...(request.body === undefined
          ? {}
          : {
              'Content-Type': 'application/json',
              'Content-Length': String(Buffer.byteLength(request.body)),
            }),
      },
    });
    const fail = (why: string, cause?: unknown): void => {
      const answered = (outgoing.socket?.bytesRead ?? 0) > 0;
      const facts = { endpoint, operation, why, cause };
      finish(() => {
        reject(answered ? new UnreadableAnswerError(facts) : new NoAnswerError(facts));
      });
    };
    const onAbort = (): void => {
      finish(() => {
        reject(abortReason(signal));
      });
    };
    const timer = setTimeout(() => {
      fail(`timed out after ${String(request.timeoutMs)} ms`);
    }, request.timeoutMs);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
      outgoing.destroy();
    };
    signal?.addEventListener('abort', onAbort, { once: true });

    outgoing.on('error', (error) => {
      fail(errorWord(error), error);
    });
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > request.maxAnswerBytes) fail(`longer than ${String(request.maxAnswerBytes)} bytes`);
      });
      incoming.on('error', (error) => {
        fail(errorWord(error), error);
      });
      incoming.on('end', () => {
        const status = incoming.statusCode ?? 0;
        finish(() => {
          resolve({ status, body: Buffer.concat(chunks) });
        });
      });
    });
    outgoing.end(request.body);
  });
}

function errorWord(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException('The call was aborted', 'AbortError');
}
