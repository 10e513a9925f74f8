import { describe, expect, it } from '@jest/globals';
import { npmFailureAdvice, type NpmFailureClass } from '@holdfast/control-protocol';
import { AGENT, agentPackage } from '../agent-package.ts';
import type { AgentPlace } from '../agent-place.ts';
import { executionKey, removeThere } from '../npm-cache.ts';
import { Scene } from '../scene.ts';

const LONG_MS = 300_000;
const SPEC = `${AGENT}@2.0.0`;
const TREE = `_npx/${executionKey(SPEC)}`;

/** A way in which npm fails to run version 2.0.0, which is not mended. */
interface Failure {
  readonly what: string;
  readonly stderrClass: NpmFailureClass;
  readonly retryable: boolean;
  /** Makes it so; gives what the agent's environment has beside the usual. */
  readonly arrange: (scene: Scene) => Promise<Readonly<Record<string, string>>>;
}

const FAILURES: readonly Failure[] = [
  {
    what: 'a release that is younger than npm is told to take',
    stderrClass: 'npm_release_policy',
    retryable: false,
    arrange: async ({ registry }) => {
      registry.publish(await agentPackage('2.0.0', { publishedAt: new Date('2026-03-01T00:00:00Z') }));
      return { npm_config_before: '2026-02-01T00:00:00Z' };
    },
  },
  {
    what: 'an installed copy that is only half there',
    stderrClass: 'npm_broken_tree',
    retryable: false,
    arrange: async (scene) => {
      await scene.publish('2.0.0');
      await scene.cached(SPEC);
      await removeThere(scene.place, `${scene.cache}/${TREE}/node_modules/.bin/agent`);
      return {};
    },
  },
  {
    what: 'a registry that cannot be reached',
    stderrClass: 'npm_network',
    retryable: true,
    arrange: async ({ registry }) => {
      registry.mood = 'reset';
      return await Promise.resolve({});
    },
  },
  {
    what: 'a registry that never answers',
    stderrClass: 'npm_network',
    retryable: true,
    arrange: async ({ registry }) => {
      registry.mood = 'silent';
      return await Promise.resolve({ npm_config_fetch_timeout: '1000' });
    },
  },
  {
    what: 'a registry that fails',
    stderrClass: 'npm_network',
    retryable: true,
    arrange: async ({ registry }) => {
      registry.mood = 503;
      return await Promise.resolve({});
    },
  },
  {
    what: 'a package that the registry does not have',
    stderrClass: 'npm_not_found',
    retryable: false,
    arrange: async ({ registry }) => {
      registry.mood = 404;
      return await Promise.resolve({});
    },
  },
  {
    what: 'an archive that is not what was published',
    stderrClass: 'npm_integrity',
    retryable: true,
    arrange: async ({ registry }) => {
      registry.publish(await agentPackage('2.0.0', { archive: 'tampered' }));
      return {};
    },
  },
  {
    what: 'a dependency that nobody has',
    stderrClass: 'npm_broken_dependency',
    retryable: false,
    arrange: async ({ registry }) => {
      registry.publish(await agentPackage('2.0.0', { dependencies: { 'acme-nowhere': '1.0.0' } }));
      return {};
    },
  },
  {
    what: 'an install script that fails without a word',
    stderrClass: 'unexplained_exit',
    retryable: true,
    arrange: async ({ registry }) => {
      registry.publish(await agentPackage('2.0.0', { scripts: { install: 'exit 3' } }));
      // npm 12 runs no such script by itself, and older ones do not know the setting.
      return { npm_config_dangerously_allow_all_scripts: 'true' };
    },
  },
];

/** What npm fails of that no repair helps with: told by its class, with what the user can do. */
export function describeFailures(makePlace: () => Promise<AgentPlace>): void {
  describe('a failure that is not mended', () => {
    it.each(FAILURES)(
      'is told with what can be done: $what',
      async ({ stderrClass, retryable, arrange }) => {
        await using scene = await Scene.at(await makePlace());
        const environment = await arrange(scene);
        await using host = await scene.host({ version: '2.0.0', environment });
        await expect(host.sessions.create(scene.session('one'))).rejects.toMatchObject({
          code: 'agent_start_failed',
          phase: 'initialize',
          stderrClass,
          advice: npmFailureAdvice(stderrClass, executionKey(SPEC)),
          retryable,
          repair: null,
        });
        expect(scene.calls('startAgent')).toHaveLength(1);
        expect(scene.calls('repairRuntime')).toEqual([]);
        expect(scene.connectionsOutside).toBe(0);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });
}
