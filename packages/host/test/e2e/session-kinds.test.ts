import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until, waitForExit, type TestHome } from '@holdfast/testbeds';
import type { SessionState, TaskRecord } from '@holdfast/turn-ledger';
import { Backend } from '../fixtures/backend-driver.ts';
import { agentsIn } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

/** What the ledger says about a session, and what is true of its agent. */
interface Truth {
  readonly session: SessionState;
  /** Of the last turn, if there was one. */
  readonly turn: string | null;
  readonly task: TaskRecord['state'];
  readonly interrupted: boolean;
  readonly permissions: number;
  readonly live: boolean;
}

interface Kind {
  /** Brings a session to what it is named after. */
  readonly bringTo: (backend: Backend, sessionId: string) => Promise<void>;
  readonly before: Truth;
  /** After a restart that did not bring its agent back. */
  readonly lost: Truth;
}

const IDLE: Truth = {
  session: 'waiting_for_input',
  turn: null,
  task: 'in_progress',
  interrupted: false,
  permissions: 0,
  live: true,
};
const RUNNING: Truth = { ...IDLE, session: 'running', turn: 'running' };
const STOPPED: Truth = { ...IDLE, session: 'stopped', live: false };
/** What reconciliation makes of a session that was active. */
const ABANDONED: Truth = {
  session: 'waiting_for_input',
  turn: 'abandoned',
  task: 'review',
  interrupted: true,
  permissions: 0,
  live: false,
};

const KINDS: Readonly<Record<string, Kind>> = {
  idle: {
    bringTo: async () => await Promise.resolve(),
    before: IDLE,
    lost: { ...ABANDONED, turn: null },
  },
  finished: {
    bringTo: async (backend, sessionId) => {
      await backend.do('outcome', await backend.prompt(sessionId, 'done at once'));
    },
    before: { ...IDLE, turn: 'completed', task: 'review' },
    lost: { ...ABANDONED, turn: 'completed', interrupted: false },
  },
  running: {
    bringTo: async (backend, sessionId) => {
      await backend.prompt(sessionId, script({ step: 'say', text: 'on it' }, { step: 'silence' }));
      await backend.events(sessionId, 2);
    },
    before: RUNNING,
    lost: ABANDONED,
  },
  asking: {
    bringTo: async (backend, sessionId) => {
      await backend.prompt(sessionId, script({ step: 'permission', title: 'Delete everything' }));
      await until(async () => (await backend.do('permissions', sessionId)).length > 0, {
        reason: 'the agent to ask',
        withinMs: 60_000,
      });
    },
    before: { ...RUNNING, permissions: 1 },
    lost: ABANDONED,
  },
  failed: {
    bringTo: async (backend, sessionId) => {
      const failing = script({ step: 'fail', code: -32_603, message: 'out of luck' });
      await backend.do('outcome', await backend.prompt(sessionId, failing));
    },
    before: { ...IDLE, session: 'failed', turn: 'failed' },
    lost: { ...ABANDONED, session: 'failed', turn: 'failed' },
  },
  stopped: {
    bringTo: async (backend, sessionId) => {
      await backend.do('stop', sessionId);
    },
    // Its own host ended it: nothing was interrupted, and nothing later changes that.
    before: STOPPED,
    lost: STOPPED,
  },
};

const NAMES = Object.keys(KINDS);

describe('what is said about sessions of every kind after the backend was killed', () => {
  it(
    'with survival on: nothing of it changes [SURVIVAL-003.2, SURVIVAL-003.3, SURVIVAL-003.4, SURVIVAL-003.5]',
    async () => {
      await using home = await testHome('kinds-on');
      const agents = await kill(home, 'on');
      await using second = await Backend.ready(home);
      const { rows } = await second.waitForReady();
      expect(rows.map(({ outcome }) => outcome.kind)).toEqual(rows.map(() => 'retracked'));
      expect(rows).toHaveLength(NAMES.length - 1);
      expect(await truthsOf(second)).toEqual(truths(({ before }) => before));
      expect(new Set(agentsIn(home.root))).toEqual(new Set(agents));
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'with survival off: those that were active wait for input, their turns abandoned, their tasks up for review [SURVIVAL-002.7]',
    async () => {
      await using home = await testHome('kinds-off');
      const agents = await kill(home, 'off');
      for (const pid of agents)
        await waitForExit(pid, { withinMs: 60_000, reason: 'the agents of a bound server' });
      await expectLost(home, 'off');
    },
    LONG_MS,
  );

  it(
    'with survival on and the control server killed too: the same [SURVIVAL-002.7]',
    async () => {
      await using home = await testHome('kinds-gone');
      const agents = await kill(home, 'on', async (backend) => {
        const server = await until(() => backend.serverPid(home), {
          reason: 'the server’s pid',
          withinMs: 60_000,
        });
        await backend.kill();
        process.kill(server, 'SIGKILL');
        await waitForExit(server, { withinMs: 60_000, reason: 'it was killed' });
      });
      for (const pid of agents) await waitForExit(pid, { withinMs: 60_000, reason: 'their input ended' });
      await expectLost(home, 'on');
    },
    LONG_MS,
  );
});

/** A backend with a session of every kind that is killed; gives the pids of the agents that ran then. */
async function kill(
  home: TestHome,
  survival: 'on' | 'off',
  how: (backend: Backend) => Promise<void> = async (backend) => {
    await backend.kill();
  },
): Promise<number[]> {
  await using first = await Backend.ready(home, { survival });
  for (const [sessionId, { bringTo }] of Object.entries(KINDS)) {
    await first.create(home, sessionId);
    await bringTo(first, sessionId);
  }
  expect(await truthsOf(first)).toEqual(truths(({ before }) => before));
  const agents = agentsIn(home.root);
  expect(agents).toHaveLength(NAMES.length - 1);
  await how(first);
  return agents;
}

/** The next backend says of every session what is true; resume tokens and workspaces are kept, and all can be prompted. */
async function expectLost(home: TestHome, survival: 'on' | 'off'): Promise<void> {
  await using second = await Backend.ready(home, { survival });
  const { rows, report } = await second.waitForReady();
  expect(rows.map(({ outcome }) => outcome.kind)).toEqual(rows.map(() => 'no_instance'));
  expect(report.match(/; gone: .*; row repaired$/gm)).toHaveLength(NAMES.length - 1);
  expect(await truthsOf(second)).toEqual(truths(({ lost }) => lost));
  for (const sessionId of NAMES) {
    expect(await second.do('record', sessionId)).toMatchObject({
      providerSessionId: expect.stringMatching(/^session-/),
      workspacePath: home.path('workspaces', sessionId),
    });
  }
  expect(await second.do('outcome', await second.prompt('running', 'go on'))).toMatchObject({
    kind: 'completed',
  });
  // The next turn takes the mark away.
  expect(await second.do('task', 'task-running')).toMatchObject({ state: 'review', interrupted: false });
  await second.close('stop');
}

function truths(of: (kind: Kind) => Truth): Readonly<Record<string, Truth>> {
  return Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, of(kind)]));
}

async function truthsOf(backend: Backend): Promise<Readonly<Record<string, Truth>>> {
  const entries: Array<readonly [string, Truth]> = [];
  for (const sessionId of NAMES) {
    const task = await backend.do('task', `task-${sessionId}`);
    entries.push([
      sessionId,
      {
        session: (await backend.do('record', sessionId)).state,
        turn: (await backend.do('turns', sessionId)).at(-1)?.state ?? null,
        task: task?.state ?? 'in_progress',
        interrupted: task?.interrupted ?? false,
        permissions: (await backend.do('permissions', sessionId)).length,
        live: (await backend.do('instance', sessionId)) !== null,
      },
    ]);
  }
  return Object.fromEntries(entries);
}
