import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { closeServer, listenOnLoopback } from './tcp-server.ts';

/**
 * What happens to a request:
 * - `pass`: it goes through.
 * - `break_before`, `break_after`: its connection breaks before it was passed on, or once the server has answered.
 * - `hang`: it is never passed on and never answered.
 * - `half`: it is passed on, and half of the answer's body comes back; then nothing.
 * - `answer`: it is not passed on; this is the answer.
 * - `rewrite`: it is passed on, and this is answered in place of the server's own JSON.
 * - `hold`: it is passed on once the promise settles. `holdAnswer`: its answer comes back once the promise settles.
 */
export type ProxyTreatment =
  | 'pass'
  | 'break_before'
  | 'break_after'
  | 'hang'
  | 'half'
  | { readonly answer: { readonly status: number; readonly body: string } }
  | { readonly rewrite: (answer: unknown) => unknown }
  | { readonly hold: Promise<unknown> }
  | { readonly holdAnswer: Promise<unknown> };

/** Stands between a client and an HTTP server, as a tunnel would: sees everything, WebSockets included, and can break any of it. */
export interface HttpProxy extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Every request so far, e.g. `POST /ownership/rotate`, with `*` behind it when it brought a credential. */
  readonly seen: readonly string[];
  /** Says what happens to the requests that fit from now on, or to the next one only. What was said last comes first. */
  treat(matching: string | RegExp, treatment: ProxyTreatment, lasting?: 'once' | 'always'): void;
  /** Forgets what it has seen and lets everything through that comes from now on. */
  reset(): void;
}

/** Starts a proxy to the server at this URL on a port of the system's choice; `basePath` is left out of what it tells and matches. */
export async function httpProxy(target: string, basePath = ''): Promise<HttpProxy> {
  const seen: string[] = [];
  const sockets = new Set<Duplex>();
  let treatments: Array<{ matching: string | RegExp; treatment: ProxyTreatment; once: boolean }> = [];
  const treatmentOf = (incoming: IncomingMessage): ProxyTreatment => {
    const what = `${String(incoming.method)} ${(incoming.url ?? '').replace(basePath, '')}`;
    seen.push(incoming.headers.authorization === undefined ? what : `${what} *`);
    const found = treatments.findLast(({ matching }) =>
      typeof matching === 'string' ? matching === what : matching.test(what),
    );
    if (found?.once === true) treatments = treatments.filter((other) => other !== found);
    return found?.treatment ?? 'pass';
  };

  const server = createServer((incoming, response) => {
    void treatRequest(target, treatmentOf(incoming), incoming, response);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined); // a client that goes away is no news here
    void treatUpgrade(target, treatmentOf(incoming), incoming, { socket, head });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${String(port)}`,
    seen,
    treat(matching, treatment, lasting = 'always') {
      treatments.push({ matching, treatment, once: lasting === 'once' });
    },
    reset() {
      treatments = [];
      seen.length = 0;
    },
    async [Symbol.asyncDispose]() {
      const closed = closeServer(server);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function treatRequest(
  target: string,
  treatment: ProxyTreatment,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (treatment === 'break_before') incoming.socket.destroy();
  else if (treatment === 'hang') incoming.resume();
  else if (typeof treatment === 'object' && 'answer' in treatment) {
    incoming.resume();
    response.writeHead(treatment.answer.status).end(treatment.answer.body);
  } else {
    if (typeof treatment === 'object' && 'hold' in treatment) await settled(treatment.hold);
    forward(target, treatment, incoming, response);
  }
}

function forward(
  target: string,
  treatment: ProxyTreatment,
  incoming: IncomingMessage,
  response: ServerResponse,
): void {
  const outgoing = httpRequest(new URL(incoming.url ?? '/', target), {
    method: incoming.method,
    agent: false,
    headers: { ...incoming.headers, host: new URL(target).host },
  });
  outgoing.on('response', (answer) => {
    void sendBack(treatment, answer, incoming, response);
  });
  // As a tunnel with nobody at its other end.
  outgoing.on('error', () => incoming.socket.destroy());
  incoming.pipe(outgoing);
}

async function sendBack(
  treatment: ProxyTreatment,
  answer: IncomingMessage,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(answer);
  const status = answer.statusCode ?? 500;
  if (treatment === 'break_after') incoming.socket.destroy();
  else if (treatment === 'half') {
    response.writeHead(status, { ...answer.headers, 'content-length': body.length });
    response.write(body.subarray(0, Math.floor(body.length / 2)));
  } else if (typeof treatment === 'object' && 'rewrite' in treatment) {
    response.writeHead(status).end(JSON.stringify(treatment.rewrite(JSON.parse(body.toString('utf8')))));
  } else {
    if (typeof treatment === 'object' && 'holdAnswer' in treatment) await settled(treatment.holdAnswer);
    response.writeHead(status, answer.headers).end(body);
  }
}

async function treatUpgrade(
  target: string,
  treatment: ProxyTreatment,
  incoming: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
): Promise<void> {
  if (typeof treatment === 'object' && 'hold' in treatment) await settled(treatment.hold);
  else if (treatment === 'hang') return;
  else if (treatment !== 'pass') {
    socket.destroy();
    return;
  }
  const outgoing = httpRequest(new URL(incoming.url ?? '/', target), {
    method: incoming.method,
    agent: false,
    headers: { ...incoming.headers, host: new URL(target).host },
  });
  outgoing.on('upgrade', (answer, upstream, first) => {
    const headers = answer.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1] ?? ''}`] : [],
    );
    socket.write([`HTTP/1.1 101 Switching Protocols`, ...headers, '', ''].join('\r\n'));
    if (first.length > 0) socket.write(first);
    if (head.length > 0) upstream.write(head);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  outgoing.on('response', (answer) => {
    answer.resume();
    socket.destroy();
  });
  outgoing.on('error', () => socket.destroy());
  outgoing.end();
}

async function settled(promise: Promise<unknown>): Promise<void> {
  await promise.catch(() => undefined);
}
