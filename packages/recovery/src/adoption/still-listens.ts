import { connect } from 'node:net';

/**
 * Whether anybody listens at an endpoint, by a connection that carries no byte. Only a refused connection says no; silence and every
 * other failure are a doubt, and count as yes.
 */
export async function stillListens(endpoint: string, timeoutMs: number): Promise<boolean> {
  const { hostname, port } = new URL(endpoint);
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || '80'),
    timeout: timeoutMs,
  });
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once('connect', () => {
        resolve(true);
      });
      socket.once('timeout', () => {
        resolve(true);
      });
      socket.once('error', (error: NodeJS.ErrnoException) => {
        resolve(error.code !== 'ECONNREFUSED');
      });
    });
  } finally {
    socket.destroy();
  }
}
