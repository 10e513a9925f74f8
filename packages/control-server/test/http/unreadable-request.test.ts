import { describe, expect, it } from '@jest/globals';
import { unreadableRequest } from '../../src/http/unreadable-request.ts';

describe('a request that cannot be read', () => {
  it.each([
    ['HPE_HEADER_OVERFLOW', 'must have less than 16384 bytes of headers'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 'must have its headers within 60000 ms and its body within 300000 ms'],
    ['HPE_INVALID_METHOD', 'must be HTTP/1.1'],
  ])('because of %s is told so', (code, expected) => {
    expect(unreadableRequest({ code })).toMatchObject({
      code: 'invalid_request',
      message: `request is not valid: ${expected}`,
    });
  });
});
