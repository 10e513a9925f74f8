import { tcpServer, type TcpServer } from './tcp-server.ts';

/** A listener that answers the first thing it is sent on a connection with fixed bytes and closes the connection. */
export async function garbageServer(bytes: string | Uint8Array): Promise<TcpServer> {
  return await tcpServer((socket) => {
    if (!socket.writableEnded) socket.end(bytes);
  });
}
