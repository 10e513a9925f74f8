import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { hungServer } from '@holdfast/testbeds';
import { stillListens } from '../../src/adoption/still-listens.ts';

const WITHIN_MS = 60_000;

describe('whether somebody listens', () => {
  it('is told by the connection alone, and sends nothing', async () => {
    let received = 0;
    const closed = Promise.withResolvers<void>();
    const listener = createServer((socket) => {
      socket.on('data', ({ length }) => (received += length)).on('error', () => undefined);
      socket.on('close', () => {
        closed.resolve();
      });
    });
    await new Promise<void>((resolve) => {
      listener.listen(0, '127.0.0.1', resolve);
    });
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('the listener has no port');
    const { port } = address;
    expect(await stillListens(`http://127.0.0.1:${String(port)}`, WITHIN_MS)).toBe(true);
    await closed.promise;
    expect(received).toBe(0);
    await new Promise((resolve) => {
      listener.close(resolve);
    });
    expect(await stillListens(`http://127.0.0.1:${String(port)}`, WITHIN_MS)).toBe(false);
  });

  it('is so of a process that never answers', async () => {
    await using peer = await hungServer();
    expect(await stillListens(peer.url, WITHIN_MS)).toBe(true);
  });

  it('is a doubt, and counts as yes, where the address leads nowhere', async () => {
    expect(await stillListens('http://nowhere.invalid:4321', 1000)).toBe(true);
  });
});
