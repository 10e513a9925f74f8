import http from 'node:http';

/** What came back, as it is. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: unknown;
  readonly text: string;
}

/** Sends a request that the client would never send. */
export function rawRequest(
  endpoint: string,
  request: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: http.OutgoingHttpHeaders;
    readonly body?: string | Buffer;
  },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      new URL(request.path, endpoint),
      {
        method: request.method ?? 'GET',
        headers: { ...lengthOf(request), ...request.headers },
        agent: false,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const body: unknown = text.startsWith('{') ? JSON.parse(text) : undefined;
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body, text });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(request.body);
  });
}

/** A body is framed by its length unless the test frames it in another way. */
function lengthOf({ body, headers = {} }: Parameters<typeof rawRequest>[1]): http.OutgoingHttpHeaders {
  return body === undefined || 'Transfer-Encoding' in headers
    ? {}
    : { 'Content-Length': Buffer.byteLength(body) };
}
