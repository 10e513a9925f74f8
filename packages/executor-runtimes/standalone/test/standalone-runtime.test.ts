import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES, controlServerEnvironment } from '@holdfast/control-protocol';
import type { ControlServerRecord, LaunchRequest } from '@holdfast/executor-contract';
import { createFileSecretStore, type ControlServerRecords } from '@holdfast/recovery';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import {
  processIsAlive,
  testHome,
  until,
  waitForExit,
  waitUntilReaped,
  type TestHome,
} from '@holdfast/testbeds';
import { backend, fileRecords, type Backend } from './fixtures/installation.ts';
import { environmentOf, serverOf, serversOf } from './fixtures/server-process.ts';

const never: AbortSignal = new AbortController().signal;
const SCOPE = 'standalone';

let place: TestHome;
let home: string;
/** Closed at the end, the last first. */
let open: Backend[];

beforeEach(async () => {
  place = await testHome('standalone');
  home = await place.folder('home');
  open = [];
});

afterEach(async () => {
  for (const { runtime } of open.toReversed()) await runtime.close();
  await place[Symbol.asyncDispose]();
});

function newBackend(given: Omit<Parameters<typeof backend>[0], 'home'> = {}): Backend {
  const made = backend({ home, ...given });
  open.push(made);
  return made;
}

function request(sessionId: string): LaunchRequest {
  return {
    executionId: `execution-${sessionId}`,
    sessionId,
    taskId: 'task',
    workspacePath: home,
    workspaceSourceRoots: [home],
    environment: { COLOUR: 'green' },
  };
}

async function recordOf({ records }: Backend): Promise<ControlServerRecord> {
  const record = await records.read(SCOPE);
  if (record === null) throw new Error('no record');
  return record;
}

/** A process that took the recorded port: it keeps what it was asked, and answers identities only. */
async function impostor(serverId: string): Promise<AsyncDisposable & { endpoint: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${String(incoming.method)} ${String(incoming.url)}`);
    response.end(JSON.stringify({ serverId, capabilities: [...CAPABILITIES], unownedPeriodMs: 600_000 }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The impostor has no port.');
  return {
    endpoint: `http://127.0.0.1:${String(address.port)}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

describe('open', () => {
  it('starts a server without a record, recovers nothing, and records the server [OWNERSHIP-001.8]', async () => {
    const first = newBackend();
    expect(await first.runtime.open(never)).toMatchObject([
      { scope: SCOPE, server: 'started', refusal: null, detail: 'first start' },
    ]);
    expect(await first.runtime.recoverInstances([], never)).toEqual([]);
    expect(await recordOf(first)).toMatchObject({ scope: SCOPE, capabilities: [...CAPABILITIES] });
  });

  it('starts a fresh server where nothing answers, and records no_answer [OWNERSHIP-001.8]', async () => {
    const first = newBackend();
    await first.runtime.open(never);
    await first.runtime.close();
    const gone = await recordOf(first);

    const next = newBackend();
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
    expect(await next.runtime.recoverInstances([], never)).toEqual([]);
    const fresh = await recordOf(next);
    expect(fresh.serverId).not.toBe(gone.serverId);
    expect(await readdir(place.path('home', 'secrets'))).toEqual([fresh.credentialRef]);
  });

  it('asks a foreign server on the recorded port for its identity and nothing more, and starts its own elsewhere [OWNERSHIP-001.4] [OWNERSHIP-001.5]', async () => {
    const first = newBackend();
    await first.runtime.open(never);
    await first.runtime.close();
    const before = await recordOf(first);
    await using foreign = await impostor('somebody-else');
    await first.records.write({ ...before, endpoint: foreign.endpoint });

    const next = newBackend();
    expect(await next.runtime.open(never)).toMatchObject([
      { server: 'started', refusal: 'identity_mismatch' },
    ]);
    expect(foreign.asked).toEqual(['GET /api/v1/identity']);
    const after = await recordOf(next);
    expect(after.endpoint).not.toBe(foreign.endpoint);
    // The server that was refused may still live, so its secret stays.
    expect(await readdir(place.path('home', 'secrets'))).toHaveLength(2);
  });

  it('leaves a server running whose credential cannot be read, starts an own one and rewrites the record [OWNERSHIP-001.9]', async () => {
    const first = newBackend();
    await first.runtime.open(never);
    const survivor = serverOf(home);
    const before = await recordOf(first);
    await first.records.write({ ...before, credentialRef: 'f'.repeat(32) });

    const next = newBackend();
    expect(await next.runtime.open(never)).toMatchObject([
      { server: 'started', refusal: 'credential_unavailable' },
    ]);
    expect(processIsAlive(survivor.pid)).toBe(true);
    expect((await recordOf(next)).serverId).not.toBe(before.serverId);
    expect(await readdir(place.path('home', 'secrets'))).toContain(before.credentialRef);
    expect(serversOf(home)).toHaveLength(2);
  });

  it('starts no second server when it is opened twice, nor while it is being opened', async () => {
    const { runtime } = newBackend();
    const [reports, launched] = await Promise.all([
      runtime.open(never),
      runtime.launch(request('s1'), never),
    ]);
    expect(await runtime.open(never)).toEqual(reports);
    expect(launched.instance).toMatchObject({ sessionId: 's1', executionId: 'execution-s1', status: 'idle' });
    expect(serversOf(home)).toHaveLength(1);
  });

  it('ends a server that it could not take over', async () => {
    const records: ControlServerRecords = {
      ...fileRecords(home),
      write: async () => await Promise.reject(new Error('the ledger is gone')),
    };
    const { runtime } = newBackend({ ownership: { records } });
    expect(await runtime.open(never)).toMatchObject([
      { server: 'none', detail: expect.stringContaining('the ledger is gone') },
    ]);
    expect(serversOf(home)).toEqual([]);
    await expect(runtime.launch(request('s1'), never)).rejects.toMatchObject({ code: 'no_control_server' });
  });

  it('reports no server after its start was cut short, and leaves no process behind', async () => {
    const { runtime } = newBackend();
    await expect(runtime.open(AbortSignal.abort(new Error('deadline')))).rejects.toThrow('deadline');
    const closing = new AbortController();
    const opening = runtime.open(closing.signal);
    closing.abort(new Error('deadline'));
    expect(await opening).toMatchObject([{ server: 'none', detail: expect.stringContaining('deadline') }]);
    expect(serversOf(home)).toEqual([]);
  });
});

describe('the environment of a server', () => {
  it('has a few well-known variables of the backend, what the options add, and the settings, no more [CONTRACT-16]', async () => {
    const { PATH = '' } = process.env;
    const { runtime } = newBackend({
      context: {
        environment: {
          PATH,
          HOME: home,
          LANG: 'C.UTF-8',
          LC_TIME: 'C',
          DATABASE_PASSWORD: 'hush',
          NODE_OPTIONS: '',
        },
      },
      options: { environment: { HTTPS_PROXY: 'http://proxy:3128' } },
    });
    await runtime.open(never);
    expect(environmentOf(serverOf(home).pid)).toEqual({
      PATH,
      HOME: home,
      LANG: 'C.UTF-8',
      LC_TIME: 'C',
      HTTPS_PROXY: 'http://proxy:3128',
      KANDEV_ACP_UNOWNED_PERIOD: '10m',
      KANDEV_ACP_DETACHED_EVENT_LIMIT: '7',
      KANDEV_ACP_IDLE_TIMEOUT: '1h',
    });
  });
});

describe('the settings of a server', () => {
  it('are those that it was started with [CONTRACT-16]', async () => {
    const hour = 3_600_000;
    const { runtime } = newBackend({
      context: {
        serverSettings: controlServerEnvironment({
          unownedPeriodMs: 2 * hour,
          detachedEventLimit: 3,
          idleTimeoutMs: hour,
        }),
      },
    });
    const { server, instance } = await runtime.launch(request('s1'), never);
    // The period has to be below the idle timeout, so it is half of that: it takes both to get there.
    expect(server.unownedPeriodMs).toBe(hour / 2);
    const identity: unknown = await (await fetch(`${server.endpoint}/api/v1/identity`)).json();
    expect(identity).toMatchObject({ serverId: server.serverId, unownedPeriodMs: hour / 2 });

    const { instanceId } = instance;
    await server.client.call('startAgent', {
      instanceId,
      command: scriptedAgentCommand(),
      session: { kind: 'new' },
      mcpServers: [],
      approval: 'allow',
    });
    const text = script({ step: 'chunks', count: 20 });
    await server.client.call('prompt', {
      instanceId,
      promptGeneration: 1,
      content: [{ type: 'text', text }],
    });
    const held = await until(
      async () => {
        const { journal } = await server.client.call('getInstance', { instanceId });
        return journal.paused && journal;
      },
      { reason: 'the journal to be full', withinMs: 60_000 },
    );
    expect(held.unacknowledged).toBe(3);
  });
});

describe('with survival off', () => {
  it('an own survivor of the time when it was on is stopped [SURVIVAL-005.5] [SURVIVAL-005.7]', async () => {
    const first = newBackend();
    await first.runtime.open(never);
    await first.runtime.detach();
    const survivor = serverOf(home);

    const next = newBackend({ context: { survival: false } });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'started' }]);
    expect(processIsAlive(survivor.pid)).toBe(false);
    expect(serverOf(home).pid).not.toBe(survivor.pid);
  });
});

describe('launch', () => {
  it('tries to adopt again after a failed rotation, and starts no second server', async () => {
    const first = newBackend();
    await first.runtime.launch(request('s1'), never);
    await first.runtime.detach();

    const secrets = createFileSecretStore(place.path('home', 'secrets'));
    let failures = 1;
    const next = newBackend({
      ownership: {
        secrets: {
          ...secrets,
          write: async (secret) => {
            failures -= 1;
            if (failures >= 0) throw new Error('the disk is full');
            return await secrets.write(secret);
          },
        },
      },
    });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'none', refusal: 'rotation_failure' }]);
    expect(await next.runtime.recoverInstances([], never)).toEqual([]);
    const { server, instance } = await next.runtime.launch(request('s2'), never);
    expect(instance.sessionId).toBe('s2');
    // What is there already is the host's to ask about, before it launches.
    const { instances } = await server.client.call('listInstances', {});
    expect(new Set(instances.map(({ sessionId }) => sessionId))).toEqual(new Set(['s1', 's2']));
    expect(serversOf(home)).toHaveLength(1);
  });

  it.each([true, false])('starts another server where its own was killed, survival %s', async (survival) => {
    const { runtime } = newBackend({ context: { survival } });
    await runtime.open(never);
    const { pid } = serverOf(home);
    process.kill(pid, 'SIGKILL');
    await waitUntilReaped(pid, { withinMs: 60_000, reason: 'it was killed' });
    // Nobody has noticed: this launch does.
    const { server, instance } = await runtime.launch(request('s1'), never);
    expect(await server.enumerate(never)).toMatchObject({ instances: [{ instanceId: instance.instanceId }] });
    expect(serverOf(home).pid).not.toBe(pid);
    expect(await runtime.open(never)).toMatchObject([{ server: 'started' }]);
    expect(serversOf(home)).toHaveLength(1);
  });

  it('starts another server beside its own that is stopping', async () => {
    const { runtime } = newBackend();
    const first = await runtime.launch(request('s1'), never);
    // Nothing new is taken from here on, whether or not it has ended when the launch comes.
    await first.server.client.call('shutdown', {});
    const { server } = await runtime.launch(request('s2'), never);
    expect(server.serverId).not.toBe(first.server.serverId);
    expect(first.server.ended.aborted).toBe(true);
  });

  it('hands the identities and the environment on as given', async () => {
    const { runtime } = newBackend();
    const { server, instance } = await runtime.launch(request('s1'), never);
    const reconstruction = await server.client.call('getReconstruction', { instanceId: instance.instanceId });
    expect(reconstruction).toMatchObject({ environment: { COLOUR: 'green' }, workspaceSourceRoots: [home] });
  });

  it('passes on what the server says, and leaves no instance behind', async () => {
    const { runtime } = newBackend();
    await expect(
      runtime.launch({ ...request('s1'), workspacePath: 'not/absolute' }, never),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    const { server } = await runtime.launch(request('s2'), never);
    expect(await server.enumerate(never)).toMatchObject({ instances: [{ sessionId: 's2' }] });
  });
});

describe('the end of a runtime', () => {
  it('lets go without stopping anything, or stops everything, and takes no more calls', async () => {
    const first = newBackend();
    await first.runtime.launch(request('s1'), never);
    await first.runtime.detach();
    expect(serversOf(home)).toHaveLength(1);
    await expect(first.runtime.open(never)).rejects.toMatchObject({ code: 'runtime_closed' });

    const next = newBackend();
    await next.runtime.open(never);
    const { pid } = serverOf(home);
    await next.runtime.close();
    await waitForExit(pid, { withinMs: 60_000, reason: 'it answers no more' });
    await expect(next.runtime.launch(request('s1'), never)).rejects.toMatchObject({ code: 'runtime_closed' });
  });

  it('has nothing to end before it was opened', async () => {
    await newBackend().runtime.close();
    await newBackend().runtime.detach();
    expect(serversOf(home)).toEqual([]);
  });
});
