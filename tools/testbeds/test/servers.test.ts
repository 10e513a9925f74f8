import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { freePort, garbageServer, hungServer, until } from '@holdfast/testbeds';

describe('freePort', () => {
  it('gives a port that nobody listens on', async () => {
    const socket = connect(await freePort(), '127.0.0.1');
    const [error] = await once(socket, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('hungServer', () => {
  it('takes connections and data and never answers', async () => {
    await using server = await hungServer();
    const giveUp = new AbortController();
    const answer = fetch(`${server.url}/hello`, { signal: giveUp.signal }).then(
      () => 'an answer',
      (error: unknown) => error,
    );
    await until(() => server.received.toString().includes('\r\n\r\n'), {
      reason: 'the request',
      withinMs: 60_000,
    });
    expect(await Promise.race([answer, wait(300, 'nothing yet')])).toBe('nothing yet');
    giveUp.abort();
    expect(await answer).toMatchObject({ name: 'AbortError' });
    expect(server.connections).toBe(1);
    expect(server.received.toString()).toMatch(/^GET \/hello HTTP\/1.1\r\n/);
  });

  it('drops its connections and frees its port when left', async () => {
    const server = await hungServer();
    const socket = connect(server.port, server.host);
    await once(socket, 'connect');
    await until(() => server.connections === 1, { reason: 'the connection', withinMs: 60_000 });
    const closed = once(socket, 'close');
    await server[Symbol.asyncDispose]();
    await closed;
    await expect(fetch(server.url)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });
});

describe('garbageServer', () => {
  it('answers each connection with its bytes', async () => {
    await using server = await garbageServer('mumble\n');
    for (const request of ['one', 'two']) {
      const socket = connect(server.port, server.host);
      socket.write(request);
      expect(await text(socket)).toBe('mumble\n');
    }
    expect(server.connections).toBe(2);
    expect(server.received.toString()).toBe('onetwo');
  });

  it('is no HTTP', async () => {
    await using server = await garbageServer(Uint8Array.from([0, 255, 13, 10]));
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
  });
});
