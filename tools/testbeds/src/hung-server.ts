import { tcpServer, type TcpServer } from './tcp-server.ts';

/** A listener that accepts connections, takes whatever it is sent and never answers; on 127.0.0.1 unless told. */
export async function hungServer(options: { readonly host?: string } = {}): Promise<TcpServer> {
  return await tcpServer(() => undefined, options.host);
}
