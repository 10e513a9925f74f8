import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { closeServer, listenOnLoopback } from './tcp-server.ts';

// Below the ports that systems give to whoever asks for any, which is what everything else on the machine does.
const FIRST = 11_000;
const LAST = 30_000;

/** A port of 127.0.0.1 that nobody listened on a moment ago, and that is hardly taken by chance in the next. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const server = createServer();
    try {
      await listenOnLoopback(server, port);
      await closeServer(server);
      return port;
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
}

function isInUse(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EADDRINUSE';
}
