import { connect } from 'node:net';
import { within, type Clock } from '../ports/clock.ts';

const LOOPBACKS = ['127.0.0.1', '::1'] as const;
// On loopback a free port refuses at once; a listener that takes no more connections does not answer.
const LIMIT_MS = 3000;

/**
 * The loopback address at which somebody listens on a port already, or null. A listener on a wildcard answers there as well, and
 * not every system refuses to bind beside it.
 */
export async function findListener(port: number, clock: Clock): Promise<string | null> {
  for (const host of LOOPBACKS) if (await isTaken(host, port, clock)) return host;
  return null;
}

async function isTaken(host: string, port: number, clock: Clock): Promise<boolean> {
  const socket = connect({ host, port });
  let taken = true;
  const settled = new Promise<void>((resolve) => {
    socket.once('connect', () => {
      // Out of its own range the system may have given this very port to the connection, which then met itself.
      taken = socket.localPort !== port || socket.localAddress !== socket.remoteAddress;
      resolve();
    });
    socket.once('error', () => {
      // Refused, or there is no such loopback. Whatever else is wrong, binding will say.
      taken = false;
      resolve();
    });
  });
  await within(clock, LIMIT_MS, settled);
  socket.destroy();
  return taken;
}
