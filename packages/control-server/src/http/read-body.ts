import type { IncomingMessage } from 'node:http';
import { ControlError, invalidRequest } from '@holdfast/control-protocol';
import { MAX_NESTING, isNestedTooDeeply } from '../ports/json-nesting.ts';
import { ConnectionCutError } from './connection-cut-error.ts';

/** Reads a body of at most `maxBytes`; a longer one is refused as soon as that is known, without reading the rest. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = (): ControlError =>
    new ControlError('body_too_large', `The request body is longer than ${String(maxBytes)} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        request.pause();
        request.removeAllListeners('data');
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    request.once('end', resolve);
    request.once('close', () => {
      reject(new ConnectionCutError());
    });
    request.once('error', () => {
      reject(new ConnectionCutError());
    });
  });
  return Buffer.concat(chunks).toString('utf8');
}

/** The value of a JSON body; an empty one is undefined. Throws `ControlError`. */
export function parseBody(text: string): unknown {
  if (text === '') return undefined;
  const value = parseJson(text);
  if (!isNestedTooDeeply(text, value)) return value;
  const message = `must not be nested deeper than ${String(MAX_NESTING)} levels`;
  throw invalidRequest('request body', [{ path: [], message }]);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ControlError('malformed_json', 'The request body is not JSON.');
  }
}
