import { describe, expect, it } from '@jest/globals';
import type { Host } from '@holdfast/host';
import { AGENT } from '../agent-package.ts';
import type { AgentPlace } from '../agent-place.ts';
import { copyThere, executionKey, removeThere } from '../npm-cache.ts';
import { Scene, promptOnce } from '../scene.ts';

const LONG_MS = 300_000;
const TREE = `_npx/${executionKey(`${AGENT}@1.1.0`)}`;

async function pidOf(host: Host, sessionId: string): Promise<number | null | undefined> {
  return (await (await host.sessions.get(sessionId))?.instance())?.agentPid;
}

/** Several agents of one package. */
export function describeSharing(makePlace: () => Promise<AgentPlace>): void {
  describe('agents of the same package', () => {
    it(
      'that start at once are each started again once at most, and all run',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        await using host = await scene.host({ version: '1.1.0' });
        const sessions = await Promise.all(
          ['one', 'two', 'three'].map(async (id) => await host.sessions.create(scene.session(id))),
        );
        expect(
          await Promise.all(sessions.map(async (session) => await promptOnce(session, 'hello'))),
        ).toEqual(sessions.map(() => expect.objectContaining({ kind: 'completed' })));
        const startsOf = Map.groupBy(scene.calls('startAgent'), ({ input }) => input['instanceId']);
        expect(startsOf.size).toBe(3);
        for (const starts of startsOf.values()) expect(starts.length).toBeLessThanOrEqual(2);
        expect(await scene.starts('1.1.0')).toHaveLength(3);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'that run from the copy keep it: the metadata alone is fetched anew',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await copyThere(scene.place, `${scene.cache}/_cacache`, `${scene.place.root}/stale-metadata`);
        await scene.publish('1.1.0');
        await using host = await scene.host({ version: '1.1.0' });
        const first = await host.sessions.create(scene.session('one'));
        const pid = await pidOf(host, 'one');
        // Something takes the package out of the copy, and brings the old metadata back.
        await copyThere(scene.place, `${scene.place.root}/stale-metadata`, `${scene.cache}/_cacache`);
        await removeThere(scene.place, `${scene.cache}/${TREE}/node_modules`);
        scene.observer.calls.length = 0;
        const second = await host.sessions.create(scene.session('two'));
        expect(scene.steps()).toEqual(['startAgent', 'stopAgent', 'repairRuntime', 'startAgent']);
        expect(scene.events).toContainEqual(
          expect.objectContaining({ name: 'runtime.repaired', sessionId: 'two', removed: false }),
        );
        expect(await promptOnce(second, 'hello')).toMatchObject({ kind: 'completed' });
        expect(await promptOnce(first, 'still here')).toMatchObject({ kind: 'completed' });
        expect(await pidOf(host, 'one')).toBe(pid);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });
}
