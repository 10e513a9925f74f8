import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import { testHome, until, waitForExit, type TestHome } from '@holdfast/testbeds';
import { anotherServer } from '../fixtures/another-server.ts';
import { Backend } from '../fixtures/backend-driver.ts';
import { changeSecret } from '../fixtures/survivor.ts';
import { gitRepository, type Repository } from '../fixtures/tree.ts';

const LONG_MS = 300_000;

describe('a worktree', () => {
  it(
    'is as it was after a stop, the crash of its agent, a start that failed, an adoption, and a close that stops agents [SURVIVAL-001.7]',
    async () => {
      await using home = await testHome('worktrees');
      const { repository, agents, before } = await prepare(home, [
        'stopped',
        'crashed',
        'unstarted',
        'adopted',
      ]);
      {
        await using first = await Backend.ready(home, { agents });
        for (const sessionId of ['stopped', 'crashed', 'adopted']) await first.create(home, sessionId);
        await first.do('stop', 'stopped');
        await first.do('outcome', await first.prompt('crashed', script({ step: 'crash', exitCode: 7 })));
        await expect(first.create(home, 'unstarted', 'broken')).rejects.toMatchObject({
          code: 'agent_start_failed',
        });
        await first.prompt('adopted', script({ step: 'silence' }));
        await first.kill();
      }
      expect(await repository.describe()).toEqual(before);
      await using second = await Backend.ready(home, { agents });
      expect((await second.waitForReady()).rows).toContainEqual({
        sessionId: 'adopted',
        outcome: { kind: 'retracked' },
      });
      expect(await repository.describe()).toEqual(before);
      await second.close('stop');
      await expectKept(repository, before);
    },
    LONG_MS,
  );

  it(
    'is as it was after a refused adoption, the end of the server that was refused, and the repair of its row [SURVIVAL-001.7]',
    async () => {
      await using home = await testHome('refused-worktree');
      const { repository, agents, before } = await prepare(home, ['one']);
      const server = await killedWithOne(home, agents);
      const providerSessionId = await resumeToken(home, agents, async (backend) => {
        expect((await backend.waitForReady()).scopes).toMatchObject([{ refusal: 'credential_unavailable' }]);
        expect(await repository.describe()).toEqual(before);
        process.kill(server, 'SIGTERM');
        await waitForExit(server, { withinMs: 60_000, reason: 'it was told to stop' });
        expect(await backend.do('reconcile', null)).toMatchObject([{ sessionId: 'one', repaired: true }]);
      });
      expect(providerSessionId).toMatch(/^session-/);
      await expectKept(repository, before);
    },
    LONG_MS,
  );

  it(
    'is as it was after a shutdown because nobody owned the server, and the repair of its row by the next backend [SURVIVAL-001.7, OWNERSHIP-003.5]',
    async () => {
      await using home = await testHome('unowned-worktree');
      const { repository, agents, before } = await prepare(home, ['one']);
      {
        await using first = await Backend.ready(home, { agents });
        await first.create(home, 'one');
        await first.kill();
      }
      await using other = await anotherServer(home, { environment: agents.scripted.environment });
      other.speedUp(30);
      expect((await other.server.ended).why).toBe('unowned');
      expect(await repository.describe()).toEqual(before);
      await using backend = await Backend.ready(home, { agents });
      const { rows, report } = await backend.waitForReady();
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect(report).toContain('row repaired');
      expect(backend.published().map(({ name }) => name)).toContain('adoption.unowned_shutdown');
      expect((await backend.do('record', 'one')).providerSessionId).toMatch(/^session-/);
      await backend.close('stop');
      await expectKept(repository, before);
    },
    LONG_MS,
  );
});

type Agents = Readonly<
  Record<'scripted' | 'broken', { readonly command: string[]; readonly environment: Record<string, string> }>
>;

interface Prepared {
  readonly repository: Repository;
  readonly before: ReadonlyMap<string, string>;
  /** They keep what they remember elsewhere, so that nobody but the product could touch a worktree. */
  readonly agents: Agents;
}

async function prepare(home: TestHome, sessionIds: readonly string[]): Promise<Prepared> {
  const repository = await gitRepository(home);
  for (const sessionId of sessionIds) await repository.worktree(sessionId);
  const environment = { SCRIPTED_AGENT_STATE: await home.folder('remembered') };
  const command = scriptedAgentCommand();
  return {
    repository,
    before: await repository.describe(),
    agents: {
      scripted: { command, environment },
      broken: { command, environment: { ...environment, ...startBehaviour({ exit: 3 }) } },
    },
  };
}

/** A backend with session `one` that is killed; gives the pid of its control server, whose secret cannot be read any more. */
async function killedWithOne(home: TestHome, agents: Agents): Promise<number> {
  await using first = await Backend.ready(home, { agents });
  await first.create(home, 'one');
  const server = await until(() => first.serverPid(home), { reason: 'the server’s pid', withinMs: 60_000 });
  await first.kill();
  await changeSecret(home, 'not a secret');
  return server;
}

/** Runs a backend, and gives the resume token of session `one` at its end. */
async function resumeToken(
  home: TestHome,
  agents: Agents,
  work: (backend: Backend) => Promise<void>,
): Promise<string | null> {
  await using backend = await Backend.ready(home, { agents });
  await work(backend);
  const { providerSessionId } = await backend.do('record', 'one');
  await backend.close('stop');
  return providerSessionId;
}

async function expectKept(repository: Repository, before: ReadonlyMap<string, string>): Promise<void> {
  const after = await repository.describe();
  expect([...after.keys()]).toEqual([...before.keys()]);
  expect(after).toEqual(before);
  expect((await repository.branches()).length).toBeGreaterThan(1);
}
