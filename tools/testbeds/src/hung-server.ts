import { tcpServer, type TcpServer } from './tcp-server.ts';

/** A listener that accepts connections, takes whatever it is sent and never answers. */
export async function hungServer(): Promise<TcpServer> {
  return await tcpServer(() => undefined);
}
