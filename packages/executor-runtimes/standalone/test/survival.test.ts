import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  processIsAlive,
  startProgram,
  testHome,
  until,
  waitForExit,
  type StartedProgram,
  type TestHome,
} from '@holdfast/testbeds';
import { backend } from './fixtures/installation.ts';
import { openFiles, serverOf, serversOf, sessionOf } from './fixtures/server-process.ts';

// Real processes on a machine that may be busy.
jest.setTimeout(60_000);

const never: AbortSignal = new AbortController().signal;

let place: TestHome;
let home: string;

beforeEach(async () => {
  place = await testHome('standalone');
  home = await place.folder('home');
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

/** Starts a backend in a process of its own and waits until it has opened its runtime. */
async function startBackend(survival: 'on' | 'off', ...session: string[]): Promise<RunningBackend> {
  const program = await startProgram([
    process.execPath,
    '--conditions=@holdfast/source',
    fileURLToPath(new URL('fixtures/backend-program.ts', import.meta.url)),
    home,
    survival,
    ...session,
  ]);
  try {
    const line = await program.nextLine('report', { withinMs: 30_000 });
    const parsed: unknown = JSON.parse(line);
    const told = new Map<string, unknown>(
      Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {}),
    );
    return { program, report: told.get('report'), agentPid: Number(told.get('agentPid')) };
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

interface RunningBackend {
  readonly program: StartedProgram;
  readonly report: unknown;
  /** 0 when no agent was started. */
  readonly agentPid: number;
}

/** A new backend takes over what is left and stops it. */
async function stopSurvivor(): Promise<void> {
  const { runtime } = backend({ home });
  await runtime.open(never);
  await runtime.close();
}

describe('a standalone control server with survival on', () => {
  it('outlives the SIGKILL of its backend and of the backend’s process group, with its agent, and is adopted from another process', async () => {
    const { program, agentPid, report } = await startBackend('on', 's1');
    expect(report).toMatchObject({ scope: 'standalone', server: 'started', refusal: null });
    const server = serverOf(home);
    expect(server.parentPid).toBe(program.pid);

    process.kill(-program.pid, 'SIGKILL');
    await program.exited;
    const orphan = await until(
      () => {
        const found = serverOf(home);
        return found.parentPid !== program.pid && found;
      },
      { reason: 'the server to have another parent', withinMs: 5000 },
    );
    expect(orphan).toMatchObject({ pid: server.pid, startTime: server.startTime });
    expect(processIsAlive(agentPid)).toBe(true);

    const next = backend({ home });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'adopted', refusal: null }]);
    const [enumeration] = await next.runtime.recoverInstances([], never);
    expect(enumeration).toMatchObject({
      kind: 'enumerated',
      scope: 'standalone',
      instances: [{ sessionId: 's1', executionId: 'execution-s1', agentPid }],
    });
    expect(serversOf(home)).toHaveLength(1);
    await next.runtime.close();
    expect(processIsAlive(agentPid)).toBe(false);
    await waitForExit(server.pid, { withinMs: 5000, reason: 'it answers no more' });
    await program[Symbol.asyncDispose]();
  });

  it('shares nothing with its backend that could end with it', async () => {
    const { program } = await startBackend('on');
    const server = serverOf(home);
    expect(sessionOf(server.pid)).toBe(server.pid);
    expect(server.groupId).toBe(server.pid);

    // What the backend has open of its own: what the test run itself was started with is nobody's doing here.
    const ofTestRun = new Set(openFiles(process.pid));
    const ofBackend = new Set(openFiles(program.pid).filter((file) => !ofTestRun.has(file)));
    const shared = openFiles(server.pid).filter((file) => ofBackend.has(file));
    // What the kernel gives every process under the same name.
    expect(shared.filter((file) => file !== '/dev/null' && !file.startsWith('anon_inode:'))).toEqual([]);
    const terminals = openFiles(server.pid).filter((file) => /^\/dev\/(?!null$|urandom$)/.test(file));
    expect(terminals).toEqual([]);

    await program[Symbol.asyncDispose]();
    await stopSurvivor();
  });
});

describe('a standalone control server with survival off', () => {
  it('ends with its backend, and its agent with it [SURVIVAL-005.1]', async () => {
    const { program, agentPid } = await startBackend('off', 's1');
    const server = serverOf(home);
    expect(program.kill('SIGKILL')).toBe(true);
    await program.exited;
    await waitForExit(server.pid, { withinMs: 15_000, reason: 'its backend is gone' });
    expect(processIsAlive(agentPid)).toBe(false);

    const next = backend({ home });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
    expect(await next.runtime.recoverInstances([], never)).toEqual([]);
    await next.runtime.close();
    await program[Symbol.asyncDispose]();
  });

  it('stops an own survivor of the time when it was on [SURVIVAL-005.5] [SURVIVAL-005.7]', async () => {
    const first = backend({ home });
    await first.runtime.open(never);
    await first.runtime.detach();
    const survivor = serverOf(home);

    const next = backend({ home, context: { survival: false } });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'started' }]);
    expect(processIsAlive(survivor.pid)).toBe(false);
    expect(serverOf(home).pid).not.toBe(survivor.pid);
    await next.runtime.close();
  });
});
