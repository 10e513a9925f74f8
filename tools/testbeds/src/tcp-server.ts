import { createServer, type Server, type Socket } from 'node:net';

/** A listener that keeps what it is sent. Disposing it drops its connections and frees the port. */
export interface TcpServer extends AsyncDisposable {
  /** Where it listens. */
  readonly host: string;
  readonly port: number;
  /** `http://<host>:<port>` */
  readonly url: string;
  /** How many connections were accepted so far. */
  readonly connections: number;
  /** All that was received so far, over all connections. */
  readonly received: Buffer;
}

const LOOPBACK = '127.0.0.1';

/** Starts a listener; `onData` is asked for every piece that arrives. */
export async function tcpServer(
  onData: (socket: Socket) => void,
  host: string = LOOPBACK,
): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const pieces: Buffer[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined); // a client that goes away is no news here
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      onData(socket);
    });
  });
  const port = await listen(server, host);
  return {
    host,
    port,
    url: `http://${host}:${String(port)}`,
    get connections() {
      return connections;
    },
    get received() {
      return Buffer.concat(pieces);
    },
    async [Symbol.asyncDispose]() {
      const closed = closeServer(server);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Binds a port on 127.0.0.1, of the system's choice unless told, and gives its number. */
export async function listenOnLoopback(server: Server, wanted = 0): Promise<number> {
  return await listen(server, LOOPBACK, wanted);
}

async function listen(server: Server, host: string, wanted = 0): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted, host, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.');
  return address.port;
}

/** Frees the port; settles once the last connection is gone. */
export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}
