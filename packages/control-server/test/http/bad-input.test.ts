import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  BASE_PATH,
  ERROR_STATUS,
  ErrorEnvelope,
  MAX_BODY_BYTES,
  MAX_PROMPT_BODY_BYTES,
  OPERATIONS,
  fillPath,
  isOperationName,
  type OperationName,
  type ErrorCode,
} from '@holdfast/control-protocol';
import {
  InstanceOf,
  NONCE,
  isType,
  ownedServer,
  readUntil,
  type OwnedServer,
} from '../support/owned-server.ts';
import { rawRequest, type RawAnswer } from '../support/raw-request.ts';

let owned: OwnedServer;
beforeAll(async () => {
  owned = await ownedServer();
});
afterAll(async () => {
  await owned[Symbol.asyncDispose]();
});

const NAMES = Object.keys(OPERATIONS).filter(isOperationName);
/** The query parameters that an operation cannot do without. */
const QUERIES: { readonly [Name in OperationName]?: string } = { readFile: '?path=x' };
const PLACES = { instanceId: 'no-such-instance', requestId: 'r' };

type Request = Parameters<typeof rawRequest>[1];
const send = async (request: Request, credential?: string): Promise<RawAnswer> =>
  await rawRequest(owned.server.endpoint, {
    ...request,
    path: BASE_PATH + request.path,
    headers: {
      ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }),
      ...request.headers,
    },
  });
const post = async (path: string, body: unknown): Promise<RawAnswer> =>
  await send({ method: 'POST', path, body: JSON.stringify(body) }, owned.credential);

function expectError(answer: RawAnswer, code: ErrorCode): void {
  expect(answer.body).toMatchObject({ error: { code } });
  expect(answer.status).toBe(ERROR_STATUS[code]);
  expect(ErrorEnvelope.safeParse(answer.body).success).toBe(true);
  expect(answer.text).not.toContain(owned.credential);
}

const CREATE = {
  executionId: 'e',
  sessionId: 's',
  taskId: 't',
  workspacePath: '/',
  workspaceSourceRoots: [],
  environment: {},
};

describe('who may call', () => {
  it.each(NAMES.filter((name) => OPERATIONS[name].access !== 'open'))(
    '%s takes no call without its credential',
    async (name) => {
      const { method, path } = OPERATIONS[name];
      const request = { method, path: fillPath(path, PLACES) };
      expectError(await send(request), 'credential_required');
      expectError(await send(request, 'x'.repeat(43)), 'credential_unknown');
      expectError(
        await send({ ...request, headers: { Authorization: owned.credential } }),
        'credential_required',
      );
    },
  );

  it.each(NAMES)('%s takes no call from a web page or under another name', async (name) => {
    const { method, path } = OPERATIONS[name];
    const request = { method, path: fillPath(path, PLACES) };
    expectError(
      await send({ ...request, headers: { Origin: 'http://127.0.0.1' } }, owned.credential),
      'origin_rejected',
    );
    expectError(
      await send({ ...request, headers: { Host: 'evil.example' } }, owned.credential),
      'host_rejected',
    );
  });

  it('takes the names of loopback with the right port', async () => {
    const { port } = new URL(owned.server.endpoint);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `LOCALHOST:${port}`]) {
      expect((await send({ path: '/identity', headers: { Host: host } })).status).toBe(200);
    }
    for (const host of ['localhost:1', 'localhost']) {
      expectError(await send({ path: '/identity', headers: { Host: host } }), 'host_rejected');
    }
  });

  it('discloses nothing but id, capabilities and period without a credential [OWNERSHIP-001.11]', async () => {
    const { body } = await send({ path: '/identity' });
    expect(Object.keys(body ?? {}).toSorted()).toEqual(['capabilities', 'serverId', 'unownedPeriodMs']);
    expect(JSON.stringify(body)).not.toContain('/');
    for (const path of ['/nothing', '/instances', '/ownership', '/instances/x']) {
      expect((await send({ path })).text).not.toContain(owned.home.root);
    }
  });
});

describe('requests that are not valid', () => {
  it.each(NAMES.filter((name) => OPERATIONS[name].access !== 'open'))(
    '%s refuses an unknown field',
    async (name) => {
      const instance = await InstanceOf.create(owned);
      const { method, path, request } = OPERATIONS[name];
      const body = request.def.type === 'undefined' ? { typo: 1 } : { ...bodyOf(name), typo: 1 };
      const answer = await send(
        {
          method,
          path: fillPath(path, { ...PLACES, instanceId: instance.instanceId }),
          body: JSON.stringify(body),
        },
        owned.credential,
      );
      expectError(answer, 'invalid_request');
      expect(await instance.describe()).toMatchObject({ status: 'idle' });
    },
  );

  const bodyOf = (name: string): object => {
    if (name === 'createInstance') return CREATE;
    if (name === 'prompt') return { promptGeneration: 1, content: [{ type: 'text' }] };
    if (name === 'repairRuntime') return { packageSpec: 'agent@1.2.3' };
    if (name === 'startAgent')
      return { command: ['x'], session: { kind: 'new' }, mcpServers: [], approval: 'ask' };
    if (name === 'confirm') return { rotationId: 1 };
    if (name === 'answerPermission') return { optionId: 'x' };
    if (name === 'setSessionMode') return { modeId: 'm' };
    if (name === 'setSessionModel') return { modelId: 'm' };
    if (name === 'setSessionConfigOption') return { optionId: 'o', value: true };
    if (name === 'setWorkspaceRoots') return { workspaceSourceRoots: [] };
    return { turnId: 't' };
  };

  it.each<readonly [string, object, string]>([
    ['a wrong type', { ...CREATE, executionId: 7 }, 'executionId'],
    ['an id with odd characters', { ...CREATE, sessionId: '../etc' }, 'sessionId'],
    ['an id that is too long', { ...CREATE, taskId: 'x'.repeat(129) }, 'taskId'],
    ['a relative path', { ...CREATE, workspacePath: 'here' }, 'workspacePath'],
    ['a workspace that is missing', { ...CREATE, workspacePath: '/no/such/folder' }, 'workspacePath'],
    ['a workspace that is a file', { ...CREATE, workspacePath: '/etc/hostname' }, 'workspacePath'],
    ['a variable name with =', { ...CREATE, environment: { 'A=B': 'c' } }, 'environment'],
    ['a variable with NUL', { ...CREATE, environment: { A: 'secret\0value' } }, 'environment'],
    ['a missing field', { ...CREATE, environment: undefined }, 'environment'],
  ])('creates nothing for %s', async (_name, body, path) => {
    const before = (await owned.client.call('listInstances', {})).instances.length;
    const answer = await post('/instances', body);
    expectError(answer, 'invalid_request');
    expect(answer.body).toMatchObject({
      error: { details: { issues: [{ path: expect.arrayContaining([path]) }] } },
    });
    expect(answer.text).not.toContain('secret');
    expect((await owned.client.call('listInstances', {})).instances).toHaveLength(before);
  });

  it('refuses what is not JSON', async () => {
    expectError(
      await send({ method: 'POST', path: '/instances', body: '{"a":' }, owned.credential),
      'malformed_json',
    );
  });

  it('refuses JSON that is nested too deeply to be written again, and lives on', async () => {
    const instance = await InstanceOf.create(owned);
    const { instanceId } = instance;
    await instance.start();
    await using stream = await instance.attach(0);
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    const prompt = async (generation: number, levels: number): Promise<RawAnswer> =>
      await send(
        {
          method: 'POST',
          path: `/instances/${instanceId}/prompt`,
          body: `{"promptGeneration":${String(generation)},"content":[{"type":"text","text":"x","deep":${nested(levels)}}]}`,
        },
        owned.credential,
      );
    for (const levels of [1000, 100_000]) {
      const answer = await prompt(1, levels);
      expectError(answer, 'invalid_request');
      expect(answer.text).toContain('must not be nested deeper than 1000 levels');
    }
    expect((await prompt(1, 997)).status).toBe(202);
    await readUntil(stream, isType('turn_ended'));
    await owned.client.call('deleteInstance', { instanceId });
  });

  it('refuses ids in the path that are none', async () => {
    for (const id of ['a%20b', '', 'x'.repeat(129), '%ff', '%']) {
      expectError(await send({ path: `/instances/${id}` }, owned.credential), 'invalid_request');
    }
  });

  it('refuses query parameters where there are none', async () => {
    expectError(await send({ path: '/instances?limit=1' }, owned.credential), 'invalid_request');
  });

  it('knows no other paths and methods', async () => {
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['PATCH', '/instances'],
      ['GET', '/instances/x/events'],
    ] as const) {
      expectError(await send({ method, path }, owned.credential), 'route_not_found');
    }
    expectError(await rawRequest(owned.server.endpoint, { path: '/' }), 'route_not_found');
  });

  it('refuses an unknown instance in every operation on one', async () => {
    for (const name of NAMES.filter((one) => OPERATIONS[one].path.includes('{instanceId}'))) {
      const { method, path, request } = OPERATIONS[name];
      const body = request.def.type === 'undefined' ? undefined : JSON.stringify(bodyOf(name));
      const answer = await send(
        {
          method,
          path: fillPath(path, PLACES) + (QUERIES[name] ?? ''),
          ...(body === undefined ? {} : { body }),
        },
        owned.credential,
      );
      expectError(answer, 'instance_not_found');
    }
  });

  it('refuses a second instance of the same id', async () => {
    const instance = await InstanceOf.create(owned);
    expectError(await post('/instances', { ...CREATE, instanceId: instance.instanceId }), 'instance_exists');
  });
});

describe('what is no HTTP', () => {
  it('is answered in the words of the protocol and gets no further', async () => {
    const { port, hostname } = new URL(owned.server.endpoint);
    const socket = connect(Number(port), hostname);
    socket.end('NOT HTTP AT ALL\r\n\r\n');
    const text = await readText(socket);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'invalid_request' } });
  });
});

describe('headers that are too large', () => {
  it('are refused with their limit', async () => {
    const answer = await send({ path: '/identity', headers: { 'X-Long': 'x'.repeat(20_000) } });
    expectError(answer, 'invalid_request');
    expect(answer.text).toContain('must have less than 16384 bytes of headers');
    expect((await send({ path: '/identity', headers: { 'X-Long': 'x'.repeat(15_000) } })).status).toBe(200);
  });
});

describe('bodies that are too large', () => {
  it.each([1, 8 * 1024 * 1024])('refuses %i bytes too many, and the peer gets to read it', async (excess) => {
    const body = Buffer.alloc(MAX_BODY_BYTES + excess, 0x20);
    expectError(await send({ method: 'POST', path: '/instances', body }, owned.credential), 'body_too_large');
  });

  it('refuses one that does not say its length', async () => {
    const body = Buffer.alloc(MAX_BODY_BYTES + 1, 0x20);
    const headers = { 'Transfer-Encoding': 'chunked' };
    expectError(
      await send({ method: 'POST', path: '/instances', body, headers }, owned.credential),
      'body_too_large',
    );
  });

  it('does not read a body before the credential is known', async () => {
    const body = Buffer.alloc(2 * MAX_BODY_BYTES, 0x20);
    const answer = await send({ method: 'POST', path: '/instances', body });
    expectError(answer, 'credential_required');
    expect(answer.headers.connection).toBe('close');
  });

  it('reads little of a body that needs no credential', async () => {
    const body = JSON.stringify({ challenge: 'x'.repeat(20_000) });
    expectError(await send({ method: 'POST', path: '/ownership/proof', body }), 'body_too_large');
  });

  it('takes a prompt of many megabytes', async () => {
    const instance = await InstanceOf.create(owned);
    const content = [{ type: 'text', text: 'x'.repeat(MAX_BODY_BYTES * 3) }];
    expectError(
      await post(`/instances/${instance.instanceId}/prompt`, { promptGeneration: 1, content }),
      'agent_not_running',
    );
    expect(MAX_PROMPT_BODY_BYTES).toBeGreaterThan(MAX_BODY_BYTES * 3);
  });
});

describe('answers', () => {
  it('marks those with secrets as not to be stored', async () => {
    const instance = await InstanceOf.create(owned, { environment: { TOKEN: 'secret' } });
    const { instanceId } = instance;
    const answer = await send({ path: `/instances/${instanceId}/reconstruction` }, owned.credential);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toEqual({
      providerSessionId: null,
      workspaceSourceRoots: [],
      environment: { TOKEN: 'secret' },
      lastPromptGeneration: 0,
    });
    const listed = await send({ path: '/instances' }, owned.credential);
    expect(listed.headers['cache-control']).toBeUndefined();
  });

  it('refuses a second bootstrap', async () => {
    expectError(await post('/ownership/bootstrap', { nonce: NONCE }), 'bootstrap_consumed');
    expectError(await post('/ownership/bootstrap', { nonce: 'wrong' }), 'bootstrap_rejected');
  });
});

describe('the event stream', () => {
  const upgrade = async (path: string, credential?: string): Promise<RawAnswer> =>
    await send(
      {
        path,
        headers: {
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
        },
      },
      credential,
    );

  it('is refused like any other request', async () => {
    const { instanceId } = await InstanceOf.create(owned);
    const path = `/instances/${instanceId}/events`;
    expectError(await upgrade(`${path}?after=0`), 'credential_required');
    expectError(await upgrade('/instances/unknown/events?after=0', owned.credential), 'instance_not_found');
    expectError(await upgrade('/instances?after=0', owned.credential), 'route_not_found');
    for (const query of [
      '',
      '?after=',
      '?after=-1',
      '?after=1',
      '?after=x',
      '?after=0&after=0',
      '?after=0&x=1',
    ]) {
      expectError(await upgrade(path + query, owned.credential), 'invalid_request');
    }
  });
});
