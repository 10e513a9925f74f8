import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NpmPackage } from './npm-package.ts';
import { Shelf } from './shelf.ts';

/**
 * How a registry meets requests: as it should, with this HTTP status, with a web page as some networks do, with no answer at all,
 * or by a reset of the connection.
 */
export type RegistryMood = 'well' | 'page' | 'silent' | 'reset' | 401 | 403 | 404 | 429 | 500 | 503;

/** One request that a registry was sent. */
export interface RegistryRequest {
  readonly method: string;
  /** Decoded, without a query, e.g. `/@acme/agent`. */
  readonly path: string;
}

/** A small npm registry with packages made by a test. Disposing it drops its connections and frees the port. */
export interface NpmRegistry extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>`. A client that reaches the port under another name gets archives under that name. */
  readonly url: string;
  /** Adds a version. Who asks from now on is told of it; npm asks again when its copy is too old or it is told to. */
  publish(version: NpmPackage): void;
  /** What it does with requests from now on; those it has not answered stay as they are. */
  mood: RegistryMood;
  /** All requests so far, or those of one path. */
  requests(path?: string): readonly RegistryRequest[];
}

/** How long npm takes what it was told about a package for fresh, in seconds; that of the public registry. */
const FRESH_SECONDS = 300;

/** Starts a registry; on 127.0.0.1 unless told. */
export async function npmRegistry(options: { readonly host?: string } = {}): Promise<NpmRegistry> {
  const shelf = new Shelf();
  const requests: RegistryRequest[] = [];
  let mood: RegistryMood = 'well';
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://registry').pathname);
    requests.push({ method: request.method ?? '', path });
    request.resume();
    if (mood === 'silent') return;
    if (mood === 'reset') request.socket.resetAndDestroy();
    else if (mood === 'page') response.setHeader('content-type', 'text/html').end('<html>Log in</html>');
    else if (mood === 'well') answer(shelf, path, request, response);
    else sendJson(response, mood, { error: `the registry answers ${String(mood)}` });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, options.host ?? '127.0.0.1', resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a listener on TCP has such an address
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${String(port)}`,
    publish: (version) => {
      shelf.add(version);
    },
    get mood() {
      return mood;
    },
    set mood(next) {
      mood = next;
    },
    requests: (path) => requests.filter((request) => path === undefined || request.path === path),
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      server.close(() => {
        closed.resolve();
      });
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

function answer(shelf: Shelf, path: string, request: IncomingMessage, response: ServerResponse): void {
  // Audits and the like: nothing is known against any package.
  if (path.startsWith('/-/')) {
    sendJson(response, 200, {});
    return;
  }
  const [, name = '', file] = /^\/(.+?)(?:\/-\/(.+))?$/.exec(path) ?? [];
  if (file !== undefined) {
    const archive = shelf.archive(name, file);
    if (archive === undefined) sendJson(response, 404, { error: 'no such file' });
    else response.setHeader('content-type', 'application/octet-stream').end(archive);
    return;
  }
  const short = request.headers.accept?.includes('application/vnd.npm.install-v1+json') ?? false;
  const document = shelf.document(name, `http://${request.headers.host ?? ''}`, short);
  if (document === undefined) {
    sendJson(response, 404, { error: 'Not found' });
    return;
  }
  const body = JSON.stringify(document);
  const etag = `"${createHash('sha256').update(body).digest('hex')}"`;
  response.setHeader('etag', etag);
  response.setHeader('cache-control', `public, max-age=${String(FRESH_SECONDS)}`);
  response.setHeader('content-type', short ? 'application/vnd.npm.install-v1+json' : 'application/json');
  response.setHeader('vary', 'accept-encoding, accept');
  if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
  else response.end(body);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  if (status === 401) response.setHeader('www-authenticate', 'Bearer');
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
