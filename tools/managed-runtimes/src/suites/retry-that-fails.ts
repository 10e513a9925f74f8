import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { AgentStartFailedError } from '@holdfast/host';
import { AGENT } from '../agent-package.ts';
import type { AgentPlace } from '../agent-place.ts';
import { filesBelow } from '../npm-cache.ts';
import { Scene, promptOnce } from '../scene.ts';

const LONG_MS = 300_000;
const RETRIED = ['startAgent', 'stopAgent', 'repairRuntime', 'startAgent'];

/** The error that a launch ends with. */
async function errorOf(launch: Promise<unknown>): Promise<AgentStartFailedError> {
  const error: unknown = await launch.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof AgentStartFailedError) return error;
  throw new Error(`The launch did not fail as it should: ${inspect(error)}`);
}

/** What is told when the one retry does not help, or there is none. */
export function describeRetryThatFails(makePlace: () => Promise<AgentPlace>): void {
  describe('a retry that does not help', () => {
    it(
      'is told once, and a prompt is the way to try again',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await using host = await scene.host({ version: '1.1.0' });
        const error = await errorOf(host.sessions.create(scene.session('one')));
        expect(error).toMatchObject({
          code: 'agent_start_failed',
          sessionId: 'one',
          phase: 'initialize',
          stderrClass: 'npm_stale_metadata',
          advice: expect.stringContaining('check that the version is published'),
          retryable: true,
          repair: { kind: 'repaired', removed: false },
        });
        expect(error.message).toContain('npm knows no such version');
        expect(scene.steps().slice(0, 4)).toEqual(RETRIED);
        expect(scene.calls('startAgent')).toHaveLength(2);
        expect(scene.events.map(({ name }) => name)).not.toContain('runtime.repaired');
        // Nothing that npm wrote, and no path of the place.
        expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/npm error|notarget|npm-cache/);

        await scene.publish('1.1.0');
        const session = await host.sessions.get('one');
        expect(await session?.record()).toMatchObject({ state: 'failed' });
        if (session !== null) expect(await promptOnce(session, 'again')).toMatchObject({ kind: 'completed' });
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'is told for what it failed of itself',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        scene.observer.onAnswered = ({ name }) => {
          if (name === 'repairRuntime') scene.registry.mood = 401;
        };
        await using host = await scene.host({ version: '1.1.0' });
        const error = await errorOf(host.sessions.create(scene.session('one')));
        expect(error).toMatchObject({ stderrClass: 'npm_auth', retryable: false });
        expect(scene.calls('startAgent')).toHaveLength(2);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'is told for what the first start failed of where the copy cannot be removed',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        // npm follows a link to its cache; what removes something there must not.
        await using host = await scene.host({ version: '1.1.0', environment: await linkedCache(scene) });
        const error = await errorOf(host.sessions.create(scene.session('one')));
        expect(error).toMatchObject({
          stderrClass: 'npm_stale_metadata',
          repair: { kind: 'failed', code: 'unsafe_cache_root' },
        });
        expect(scene.steps().slice(0, 3)).toEqual(RETRIED.slice(0, 3));
        expect(scene.calls('startAgent')).toHaveLength(1);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });

  describe('a runtime that repairs nothing', () => {
    it(
      'starts what npm can start, and says why it does not try again',
      async () => {
        await using scene = await Scene.at(await makePlace());
        const traits = { repairsNpmRuntimes: false };
        {
          await using host = await scene.host({ version: '1.0.0', traits });
          const session = await host.sessions.create(scene.session('one'));
          expect(await promptOnce(session, 'hello')).toMatchObject({ kind: 'completed' });
          await host.close({ agents: 'stop' });
        }
        await scene.publish('1.1.0');
        scene.observer.calls.length = 0;
        const before = await filesBelow(scene.place, `${scene.cache}/_npx`);
        await using host = await scene.host({ version: '1.1.0', traits });
        const error = await errorOf(host.sessions.create(scene.session('two')));
        const why = `runtime ${scene.place.runtime.kind} does not repair the packages that npm runs`;
        expect(error).toMatchObject({
          stderrClass: 'npm_stale_metadata',
          repair: { kind: 'refused', why },
        });
        expect(error.message).toContain(why);
        expect(scene.steps()[0]).toBe('startAgent');
        expect(scene.calls('startAgent')).toHaveLength(1);
        expect(scene.calls('repairRuntime')).toEqual([]);
        expect(await filesBelow(scene.place, `${scene.cache}/_npx`)).toEqual(before);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });
}

/** An environment in which the cache is reached by a symbolic link. */
async function linkedCache(scene: Scene): Promise<Record<string, string>> {
  const link = `${scene.place.root}/linked-cache`;
  await scene.place.run(['ln', '-s', scene.cache, link], {});
  return { npm_config_cache: link };
}
