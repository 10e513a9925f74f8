import { invalidRequest, type ControlError } from '@holdfast/control-protocol';
import { systemCode } from '../ports/system-error.ts';

/** What a request is bounded by before it is read, whatever Node was told by its own options. */
export const REQUEST_BOUNDS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 60_000,
  requestTimeout: 300_000,
} as const;

const WHY: ReadonlyMap<string | undefined, string> = new Map([
  ['HPE_HEADER_OVERFLOW', `must have less than ${String(REQUEST_BOUNDS.maxHeaderSize)} bytes of headers`],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    `must have its headers within ${String(REQUEST_BOUNDS.headersTimeout)} ms and its body within ${String(REQUEST_BOUNDS.requestTimeout)} ms`,
  ],
]);

/** What is answered to a request that did not get as far as its route; `error` is why Node could not read it. */
export function unreadableRequest(error: unknown): ControlError {
  return invalidRequest('request', [{ path: [], message: WHY.get(systemCode(error)) ?? 'must be HTTP/1.1' }]);
}
