import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ControlError, OPERATIONS, invalidRequest } from '@holdfast/control-protocol';
import { WebSocketServer } from 'ws';
import type { Instance } from '../instances/instance.ts';
import { errorAnswer, answerOnSocket } from './answer.ts';
import { controlErrorOf, splitTarget, type DispatchOptions } from './dispatch.ts';
import { EventSocket, type StreamCloseReason } from './event-socket.ts';
import { bearerOf, checkOrigin } from './origin-gate.ts';
import { EVENTS_ROUTE, matchRoute, parsePlaces } from './routes.ts';

// A backend sends acknowledgements and nothing else.
const MAX_REQUEST_BYTES = 64 * 1024;

/** The event streams of a server: upgrades come in here, and rotation and shutdown close what is open. */
export class EventStreams {
  readonly #options: DispatchOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_REQUEST_BYTES,
  });
  readonly #open = new Set<EventSocket>();

  constructor(options: DispatchOptions) {
    this.#options = options;
    // Every stream that is open now was opened under an older credential (OWNERSHIP-002.2).
    options.parts.ownership.onRotated(() => {
      void this.closeAll('superseded');
    });
  }

  /** Opens a stream on an upgrade request, or refuses it with the error's own answer. Never throws. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined); // a peer that goes away is no news
    const { parts, clock } = this.#options;
    try {
      const { instance, after, credential } = this.#check(request);
      this.#server.handleUpgrade(request, socket, head, (webSocket) => {
        const stream = new EventSocket(webSocket, instance, { after, clock });
        this.#open.add(stream);
        void stream.closed.then(() => this.#open.delete(stream));
        try {
          // An adoption or a stop may have come during the handshake.
          parts.ownership.authorize('driver', credential);
        } catch {
          stream.close('superseded');
          return;
        }
        if (instance.isStopping) stream.close('instanceStopped');
        else stream.start();
      });
    } catch (error) {
      answerOnSocket(socket, errorAnswer(controlErrorOf(error, parts, 'upgrade')));
    }
  }

  /** Closes every open stream; resolves when the connections have ended, which a peer cannot put off for long. */
  async closeAll(why: StreamCloseReason): Promise<void> {
    const open = [...this.#open];
    for (const stream of open) stream.close(why);
    await Promise.all(
      open.map(async ({ closed }) => {
        await closed;
      }),
    );
  }

  #check(request: IncomingMessage): {
    readonly instance: Instance;
    readonly after: number;
    readonly credential: string | undefined;
  } {
    const { parts, hosts } = this.#options;
    checkOrigin(request.headers, hosts());
    const { pathname, search } = splitTarget(request.url ?? '/');
    const { name, places } = matchRoute(request.method ?? 'GET', pathname);
    if (name !== EVENTS_ROUTE) {
      throw new ControlError('route_not_found', 'Only the event stream of an instance takes an upgrade.');
    }
    const credential = bearerOf(request.headers);
    parts.ownership.authorize('driver', credential);
    parts.ownership.refuseWhenClosing();
    const { instanceId } = parsePlaces(OPERATIONS.getInstance.params, places);
    const instance = parts.instances.get(instanceId);
    return { instance, after: readAfter(search, instance.journal.nextSeq), credential };
  }
}

function readAfter(search: string, nextSeq: number): number {
  const query = new URLSearchParams(search);
  const [text, ...others] = query.getAll('after');
  const unknown = [...query.keys()].filter((name) => name !== 'after');
  if (unknown.length > 0 || others.length > 0) throw afterError('must be the only query parameter, once');
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw afterError('must be a whole number, 0 at first');
  const after = Number(text);
  if (after >= nextSeq) {
    throw afterError(`must be below ${String(nextSeq)}, the next sequence number; it is ${text}`);
  }
  return after;
}

function afterError(message: string): ControlError {
  return invalidRequest('query', [{ path: ['after'], message }]);
}
