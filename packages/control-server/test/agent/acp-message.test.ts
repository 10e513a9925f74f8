import { describe, expect, it } from '@jest/globals';
import { readAgentMessage } from '../../src/agent/acp-message.ts';

const line = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });

describe('the id of a request', () => {
  it.each([
    '0',
    '-1',
    '9007199254740993',
    '-170141183460469231731687303715884105727',
    '1.0',
    '1e400',
    '-0',
    '0.30000000000000004440892098500626',
    '"0"',
    '""',
    '"ü \\"x\\""',
  ])('is kept as it is: %s', (id) => {
    const params = { id: 7, requestId: 8, deep: [{ id: 1 }] };
    for (const text of [
      `{"jsonrpc":"2.0","id":${id},"method":"x","params":${JSON.stringify(params)}}`,
      `{"params":${JSON.stringify(params)},"method":"x","id" : ${id} }`,
    ]) {
      expect(readAgentMessage(text)).toEqual({ kind: 'request', id, method: 'x', params });
    }
  });

  it('is the last one, as elsewhere in JSON, when it is there twice', () => {
    expect(readAgentMessage('{"id":10000000000000001,"id":2.0,"method":"x"}')).toMatchObject({ id: '2.0' });
    expect(readAgentMessage('{"id":2.0,"id":"a","method":"x"}')).toMatchObject({ id: '"a"' });
  });

  it('may be null where an answer is due, and is none in what needs no answer', () => {
    const asked = line({ id: null, method: 'session/request_permission' });
    expect(readAgentMessage(asked)).toMatchObject({ kind: 'request', id: 'null' });
    for (const method of ['session/update', '_vendor/ping']) {
      expect(readAgentMessage(line({ id: null, method }))).toMatchObject({ kind: 'notification', method });
    }
  });

  it.each([true, {}, [1]])('is none when it is %j', (id) => {
    expect(readAgentMessage(line({ id, method: 'x' }))).toMatchObject({ kind: 'notification' });
  });
});

describe('the withdrawal of a request', () => {
  it.each(['0', '9007199254740993', '1.0', '"a"', 'null'])('names it by its own id: %s', (id) => {
    const text = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id},"_meta":{"requestId":5}}}`;
    expect(readAgentMessage(text)).toEqual({ kind: 'withdrawal', id });
  });

  it.each([{}, { requestId: {} }, null])('is one of nothing with %j', (params) => {
    expect(readAgentMessage(line({ method: '$/cancel_request', params }))).toMatchObject({
      kind: 'notification',
    });
  });
});
