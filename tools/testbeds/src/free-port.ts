import { createServer } from 'node:net';
import { closeServer, listenOnLoopback } from './tcp-server.ts';

/** A port of 127.0.0.1 that nobody listened on a moment ago. Another process may still take it first. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOnLoopback(server);
  await closeServer(server);
  return port;
}
