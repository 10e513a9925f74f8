import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  listProcesses,
  processIsAlive,
  processStartTime,
  testHome,
  until,
  waitForExit,
  type TestHome,
} from '@holdfast/testbeds';
import { backend } from './fixtures/installation.ts';
import { startBackend, type RunningBackend } from './fixtures/running-backend.ts';
import { serverOf, serversOf, sessionOf } from './fixtures/server-process.ts';
import { asShell, hasTerminals, inTerminal } from './fixtures/terminal.ts';

const never: AbortSignal = new AbortController().signal;

/** One way for a backend to end. */
interface KillPath {
  readonly path: string;
  readonly under?: (command: readonly string[]) => readonly string[];
  readonly end: (backend: RunningBackend) => void;
}

const signalled = (signal: NodeJS.Signals): KillPath => ({
  path: `${signal} of the process`,
  end: ({ pid }) => process.kill(pid, signal),
});

const hangUp: KillPath = {
  path: 'the hang-up of its terminal',
  under: (command) => inTerminal(`exec ${asShell(command)}`),
  // The terminal goes with the program that holds its other side.
  end: ({ program }) => program.kill('SIGKILL'),
};

if (!hasTerminals())
  console.warn('The hang-up of a terminal is not tried: there is no script(1) of util-linux.');

const KILL_PATHS: readonly KillPath[] = [
  { path: 'its exit with code 0', end: ({ program }) => program.write('exit\n') },
  { path: 'an uncaught exception', end: ({ program }) => program.write('a bug\n') },
  signalled('SIGTERM'),
  signalled('SIGINT'),
  signalled('SIGHUP'),
  signalled('SIGKILL'),
  {
    path: 'SIGKILL of its process group',
    end: ({ program }) => process.kill(-program.pid, 'SIGKILL'),
  },
  {
    path: 'SIGKILL of every process of its session',
    under: (command) => ['sh', '-c', '"$@"; true', 'sh', ...command],
    end: ({ pid }) => {
      const session = sessionOf(pid);
      for (const member of listProcesses()) {
        if (sessionIs(member.pid, session)) process.kill(member.pid, 'SIGKILL');
      }
    },
  },
  {
    path: 'the closing of the pipes that it was started with',
    under: (command) => [
      process.execPath,
      fileURLToPath(new URL('fixtures/behind-pipes.ts', import.meta.url)),
      ...command,
    ],
    end: ({ program }) => program.kill('SIGKILL'),
  },
  ...(hasTerminals() ? [hangUp] : []),
];

function sessionIs(pid: number, session: number): boolean {
  try {
    return sessionOf(pid) === session;
  } catch {
    return false; // ended meanwhile
  }
}

let place: TestHome;
let home: string;

beforeEach(async () => {
  place = await testHome('kill-paths');
  home = await place.folder('home');
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

describe('with survival on, the control server and its agent outlive', () => {
  it.each(KILL_PATHS)(
    '$path, and another backend adopts them [SURVIVAL-001.2]',
    async ({ under = (command) => command, end }) => {
      await using killed = await startBackend({ home, survival: 'on', under });
      const { pid, server, agent, report } = killed;
      expect(report).toMatchObject({ server: 'started', refusal: null, warnings: [] });
      expect(server.parentPid).toBe(pid);

      end(killed);
      await killed.ended();
      const orphan = await until(
        () => {
          const found = serverOf(home);
          return found.parentPid !== pid && found;
        },
        { reason: 'the server to have another parent', withinMs: 60_000 },
      );
      expect(orphan).toMatchObject({ pid: server.pid, startTime: server.startTime });

      const next = backend({ home });
      expect(await next.runtime.open(never)).toMatchObject([{ server: 'adopted', refusal: null }]);
      const [enumeration] = await next.runtime.recoverInstances([], never);
      expect(enumeration).toMatchObject({
        kind: 'enumerated',
        instances: [{ sessionId: 's1', executionId: 'execution-s1', agentPid: agent.pid, status: 'ready' }],
      });
      expect(processStartTime(agent.pid)).toBe(agent.startTime);
      expect(serversOf(home)).toHaveLength(1);

      await next.runtime.close();
      expect(processIsAlive(agent.pid)).toBe(false);
      await waitForExit(server.pid, { withinMs: 60_000, reason: 'it answers no more' });
    },
  );
});

describe('with survival off, the control server and its agent end with', () => {
  it.each(KILL_PATHS)(
    '$path, and another backend recovers nothing [SURVIVAL-005.1]',
    async ({ under = (command) => command, end }) => {
      await using killed = await startBackend({ home, survival: 'off', under });
      const { server, agent } = killed;
      expect(processIsAlive(agent.pid)).toBe(true);

      end(killed);
      await killed.ended();
      await waitForExit(server.pid, { withinMs: 60_000, reason: 'its backend is gone' });
      expect(processIsAlive(agent.pid)).toBe(false);

      const next = backend({ home });
      expect(await next.runtime.open(never)).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
      expect(await next.runtime.recoverInstances([], never)).toEqual([]);
      await next.runtime.close();
    },
  );
});
