import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { freePort, garbageServer, hungServer } from '@holdfast/testbeds';
import { WebSocketServer, type WebSocket } from 'ws';
import { ControlClient, NoAnswerError, UnreadableAnswerError } from '../src/client/index.ts';
import { STREAM_CLOSE } from '../src/index.ts';

function clientOf(port: number, timeoutMs = 60_000): ControlClient {
  return new ControlClient({
    endpoint: `http://127.0.0.1:${String(port)}`,
    timeoutMs,
    credential: 'c'.repeat(43),
  });
}

describe('the client and a peer that is no control server', () => {
  it('reports no answer where nothing listens', async () => {
    const client = clientOf(await freePort());
    await expect(client.call('getIdentity', {})).rejects.toThrow(NoAnswerError);
    await expect(client.call('getIdentity', {})).rejects.toMatchObject({ systemCode: 'ECONNREFUSED' });
    await expect(client.openEvents('i', { after: 0 })).rejects.toThrow(NoAnswerError);
  });

  it('reports no answer when nothing comes back in time', async () => {
    await using peer = await hungServer();
    await expect(clientOf(peer.port, 300).call('getIdentity', {})).rejects.toThrow('timed out after 300 ms');
    await expect(clientOf(peer.port, 300).call('getIdentity', {})).rejects.toThrow(NoAnswerError);
    await expect(clientOf(peer.port, 300).call('getIdentity', {})).rejects.toMatchObject({
      systemCode: null,
    });
  });

  it.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a part of an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"serv'],
    ['no JSON', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'],
    ['another shape', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
    ['another status', 'HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: /\r\n\r\n'],
    [
      'an error code nobody knows',
      `HTTP/1.1 400 Bad\r\ncontent-length: 41\r\n\r\n{"error":{"code":"new","message":"what"}}`,
    ],
    ['more than it may', `HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n${'x'.repeat(99_999)}`],
  ])('reports an unreadable answer: %s', async (_, bytes) => {
    await using peer = await garbageServer(bytes);
    await expect(clientOf(peer.port).call('getIdentity', {})).rejects.toThrow(UnreadableAnswerError);
  });

  it('never sends its credential with an open operation', async () => {
    await using peer = await garbageServer('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    await clientOf(peer.port)
      .call('getIdentity', {})
      .catch(() => undefined);
    await clientOf(peer.port)
      .call('proveOwnership', { challenge: 'x'.repeat(43) })
      .catch(() => undefined);
    expect(peer.received.toString()).toContain('POST /api/v1/ownership/proof');
    expect(peer.received.toString().toLowerCase()).not.toContain('authorization');
  });

  it('stops at once when its signal aborts', async () => {
    await using peer = await hungServer();
    const stop = new AbortController();
    const call = clientOf(peer.port).call('getIdentity', {}, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await expect(clientOf(peer.port).call('getIdentity', {}, { signal: stop.signal })).rejects.toThrow(
      'enough',
    );
  });
});

const ATTACHED = { type: 'attached', instanceId: 'i', nextSeq: 1, replayFrom: 1 };
const eventsOf = (...seqs: number[]): object => ({
  type: 'events',
  events: seqs.map((seq) => ({
    seq,
    at: '2026-01-01T00:00:00.000Z',
    event: { type: 'session_update', update: { sessionUpdate: 'x' } },
  })),
});

/** A peer that takes every stream and says these things on it. */
async function streamPeer(
  ...messages: readonly unknown[]
): Promise<AsyncDisposable & { readonly port: number; readonly peer: Promise<WebSocket> }> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has an address');
  const peer = new Promise<WebSocket>((resolve) => {
    server.on('connection', (socket) => {
      for (const message of messages) {
        socket.send(typeof message === 'string' ? message : JSON.stringify(message));
      }
      resolve(socket);
    });
  });
  return {
    port: address.port,
    peer,
    async [Symbol.asyncDispose]() {
      for (const socket of server.clients) socket.terminate();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

describe('an event stream', () => {
  it.each([
    ['no JSON', '{'],
    ['an event of an unknown class', { type: 'events', events: [{ seq: 2, event: { type: 'new' } }] }],
    ['that it is attached once more', ATTACHED],
  ])('ends before a message that cannot be read, whatever follows it: %s', async (_what, message) => {
    await using peer = await streamPeer(ATTACHED, eventsOf(1), message, eventsOf(3), eventsOf(4));
    await using stream = await clientOf(peer.port).openEvents('i', { after: 0 });
    const closed = once(await peer.peer, 'close');
    const seen: unknown[] = [];
    for await (const delivery of stream) seen.push(delivery);
    expect(seen).toEqual([eventsOf(1)]);
    expect(await closed).toMatchObject([STREAM_CLOSE.protocolViolation, expect.anything()]);
  });

  it.each([
    ['breaks off', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 100\r\n\r\n{"err'],
    ['is of another protocol', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'],
  ])('is not opened by an answer that %s', async (_what, bytes) => {
    await using peer = await garbageServer(bytes);
    await expect(clientOf(peer.port).openEvents('i', { after: 0 })).rejects.toThrow(UnreadableAnswerError);
  });
});
