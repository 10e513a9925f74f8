import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, testHome, waitForExit, type TestHome } from '@holdfast/testbeds';
import { Backend } from '../fixtures/backend-driver.ts';
import { anotherServer, type OtherServer } from '../fixtures/another-server.ts';

const LONG_MS = 300_000;

describe('a control server that is stopped with its agents', () => {
  it(
    'because it lacks a capability: its rows are repaired at once, and its session can be resumed [OWNERSHIP-004.3, OWNERSHIP-004.4]',
    async () => {
      await using home = await testHome('incompatible');
      const before = await oneSession(home);
      await using other = await anotherServer(home, { capabilities: ['instances.v1'] });
      expect(processIsAlive(other.agentPid)).toBe(true);

      await using backend = await Backend.ready(home);
      const { scopes, rows, report } = await backend.waitForReady();
      expect(scopes).toMatchObject([{ scope: 'standalone', server: 'started' }]);
      expect(report).toContain('an own server without agents.acp.v1');
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect((await other.server.ended).why).toBe('shutdown');
      await expectResumable(backend, before, other);
    },
    LONG_MS,
  );

  it(
    'because nobody owned it: the next backend repairs its rows, and its session can be resumed [OWNERSHIP-003.5]',
    async () => {
      await using home = await testHome('unowned');
      const before = await oneSession(home);
      await using other = await anotherServer(home);
      // A minute is the least period.
      other.speedUp(30);
      expect((await other.server.ended).why).toBe('unowned');

      await using backend = await Backend.ready(home);
      const { scopes, rows } = await backend.waitForReady();
      expect(scopes).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      await expectResumable(backend, before, other);
    },
    LONG_MS,
  );
});

interface Before {
  readonly providerSessionId: string | null;
  readonly workspacePath: string;
}

/** A session with a turn behind it and something in its workspace; its backend is killed. */
async function oneSession(home: TestHome): Promise<Before> {
  await using first = await Backend.ready(home);
  const { workspacePath } = await first.create(home, 'one');
  await writeFile(join(workspacePath, 'work.txt'), 'half done');
  await first.do('outcome', await first.prompt('one', 'remember me'));
  const { providerSessionId } = await first.do('record', 'one');
  await first.kill();
  return { providerSessionId, workspacePath };
}

async function expectResumable(
  backend: Backend,
  { providerSessionId, workspacePath }: Before,
  other: OtherServer,
): Promise<void> {
  await waitForExit(other.agentPid, { withinMs: 60_000, reason: 'the agent to be stopped with its server' });
  expect(await backend.do('record', 'one')).toMatchObject({
    state: 'waiting_for_input',
    providerSessionId,
    workspacePath,
  });
  expect(await readFile(join(workspacePath, 'work.txt'), 'utf8')).toBe('half done');
  expect(await backend.do('instance', 'one')).toBeNull();

  expect(await backend.do('outcome', await backend.prompt('one', 'go on'))).toMatchObject({
    kind: 'completed',
  });
  expect(backend.published()).toContainEqual({
    name: 'session.restarted',
    sessionId: 'one',
    history: 'loaded',
  });
  expect(await backend.do('record', 'one')).toMatchObject({ providerSessionId });
  await backend.close('stop');
}
