import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { within, type Clock } from '../ports/clock.ts';
import { systemCode } from '../ports/system-error.ts';
import { answerOnSocket, errorAnswer } from './answer.ts';
import { CannotListenError } from './cannot-listen-error.ts';
import { dispatch, type DispatchOptions } from './dispatch.ts';
import type { EventStreams } from './event-streams.ts';
import { findListener } from './find-listener.ts';
import { ownAddresses, type OwnAddresses } from './own-addresses.ts';
import { REQUEST_BOUNDS, unreadableRequest } from './unreadable-request.ts';

// Answers under way, such as that to a shutdown, may still go out.
const LAST_ANSWERS_MS = 2000;

/** The HTTP side of a server. */
export class Listener {
  readonly #clock: Clock;
  readonly #server: Server;
  #addresses: OwnAddresses = { endpoint: '', hosts: new Set(), audiences: new Set() };
  readonly #sockets = new Set<Socket>();
  #underWay = 0;
  #idle = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = createServer({ keepAlive: true, ...REQUEST_BOUNDS });
  }

  /** Empty until it listens. */
  get addresses(): OwnAddresses {
    return this.#addresses;
  }

  /** Binds the port and takes requests from then on; rejects with {@link CannotListenError}. */
  async listen(
    where: { readonly host: string; readonly port: number },
    options: DispatchOptions,
    streams: EventStreams,
  ): Promise<void> {
    await this.#refuseTakenPort(where);
    const server = this.#server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('request', (request, response) => {
      this.#underWay += 1;
      response.once('close', () => {
        this.#underWay -= 1;
        if (this.#underWay === 0) this.#idle.resolve();
      });
      void dispatch(request, response, options);
    });
    server.on('upgrade', (request, socket, head) => {
      streams.upgrade(request, socket, head);
    });
    server.on('clientError', (error, socket) => {
      if (socket.writable) answerOnSocket(socket, errorAnswer(unreadableRequest(error)));
      else socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(new CannotListenError({ ...where, why: systemCode(cause) ?? 'unknown', cause }));
      });
      server.listen({ ...where, exclusive: true }, resolve);
    });
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new TypeError('a TCP listener has an address');
    this.#addresses = ownAddresses({
      listenHost: where.host,
      boundAddress: bound.address,
      port: bound.port,
      interfaceAddresses: Object.values(networkInterfaces())
        .flatMap((list) => list ?? [])
        .map(({ address }) => address),
    });
  }

  /** Connects before it binds (OWNERSHIP-001.7). A port that the system chooses is free where the server will be reached. */
  async #refuseTakenPort(where: { readonly host: string; readonly port: number }): Promise<void> {
    if (where.port === 0) return;
    const host = await findListener(where.port, this.#clock);
    if (host !== null) throw new CannotListenError({ ...where, why: `somebody listens there, at ${host}` });
  }

  /** Takes nothing new, lets answers under way go out, and frees the port. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#server.closeIdleConnections();
    if (this.#underWay > 0) {
      this.#idle = Promise.withResolvers();
      await within(this.#clock, LAST_ANSWERS_MS, this.#idle.promise);
    }
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
