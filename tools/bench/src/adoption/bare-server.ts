import { createHmac, randomBytes } from 'node:crypto';
import http from 'node:http';

/** The answers that the bare adoption looks into, as far as it does. */
export interface BareAnswers {
  readonly identity: { readonly serverId: string; readonly capabilities: readonly string[] };
  readonly proof: { readonly proofs: ReadonlyArray<{ readonly proof: string }> };
  readonly ownership: { readonly logFile: string; readonly startedAt: string };
  readonly rotation: { readonly credential: string; readonly rotationId: number };
  readonly instances: {
    readonly instances: ReadonlyArray<{ readonly instanceId: string; readonly executionId: string }>;
  };
}

/** One request over bare HTTP: JSON there and back, nothing is checked but the status. */
export async function request<Answer>(
  endpoint: string,
  method: 'GET' | 'POST',
  path: string,
  options: { readonly credential?: string; readonly body?: object } = {},
): Promise<Answer> {
  const { credential, body } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const outgoing = http.request(`${endpoint}/api/v1${path}`, {
    method,
    headers: {
      ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
  });
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    let text = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    incoming.on('end', () => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
      if (incoming.statusCode === 200) resolve(JSON.parse(text) as Answer);
      else reject(new Error(`${method} ${path} answered ${String(incoming.statusCode)}: ${text}`));
    });
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  return await promise;
}

/** Has the server prove that it holds the credential. */
export async function prove(endpoint: string, serverId: string, credential: string): Promise<void> {
  const challenge = randomBytes(32).toString('base64url');
  const audience = new URL(endpoint).host;
  const { proofs } = await request<BareAnswers['proof']>(endpoint, 'POST', '/ownership/proof', {
    body: { challenge, audience },
  });
  const expected = createHmac('sha256', credential)
    .update(['holdfast/ownership-proof/v1', serverId, audience, challenge].join('\0'))
    .digest('base64url');
  if (!proofs.some(({ proof }) => proof === expected)) throw new Error('the server proved nothing');
}
