import { describe, expect, it } from '@jest/globals';
import type { OperationName } from '@holdfast/control-protocol';
import type { Host } from '@holdfast/host';
import { until } from '@holdfast/testbeds';
import { AGENT } from '../agent-package.ts';
import type { AgentPlace } from '../agent-place.ts';
import { executionKey, filesBelow } from '../npm-cache.ts';
import { Scene, promptOnce } from '../scene.ts';

const LONG_MS = 300_000;
const TREE = `_npx/${executionKey(`${AGENT}@1.1.0`)}/`;

type Way = 'stop' | 'cancel' | 'close' | 'signal';

/** How each way of giving up is told to who waits for the launch. */
const TOLD: { readonly [W in Way]: object } = {
  stop: { code: 'agent_start_cancelled', sessionId: 'one' },
  cancel: { code: 'agent_start_cancelled', sessionId: 'one' },
  close: { code: 'host_closed' },
  signal: { name: 'AbortError' },
};

/** Gives up; what takes longer than that goes on. */
async function giveUp(
  way: Way,
  host: Host,
  abort: AbortController,
  going: Array<Promise<unknown>>,
): Promise<void> {
  const session = await host.sessions.get('one');
  if (way === 'stop') going.push(session?.stop() ?? Promise.resolve());
  else if (way === 'cancel') going.push(session?.cancel() ?? Promise.resolve());
  else if (way === 'close') going.push(host.close({ agents: 'stop' }));
  else abort.abort();
}

/** A start that is given up on the way. */
export function describeGivingUp(makePlace: () => Promise<AgentPlace>): void {
  describe('a start that is given up', () => {
    it.each<[Way, OperationName]>([
      ['stop', 'startAgent'],
      ['cancel', 'startAgent'],
      ['close', 'startAgent'],
      ['signal', 'stopAgent'],
      ['close', 'stopAgent'],
      ['stop', 'repairRuntime'],
      ['close', 'repairRuntime'],
      ['signal', 'repairRuntime'],
    ])(
      'by %s after %s starts no replacement',
      async (way, after) => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        const abort = new AbortController();
        const going: Array<Promise<unknown>> = [];
        await using host = await scene.host({ version: '1.1.0' });
        let given = false;
        scene.observer.onAnswered = async ({ name }) => {
          if (name !== after || given) return;
          given = true;
          await giveUp(way, host, abort, going);
        };
        await expect(
          host.sessions.create(scene.session('one', { signal: abort.signal })),
        ).rejects.toMatchObject(TOLD[way]);
        await Promise.all(going);
        expect(given).toBe(true);
        expect(scene.calls('startAgent')).toHaveLength(1);
        expect(await scene.starts('1.1.0')).toEqual([]);
        const files = await filesBelow(scene.place, scene.cache);
        expect(Object.keys(files).filter((path) => path.startsWith(TREE))).toEqual([]);
        if (way !== 'close') {
          const session = await host.sessions.get('one');
          expect(await session?.instance()).toBeNull();
          scene.observer.onAnswered = () => undefined;
          // Nothing is left in the way of another attempt.
          if (session !== null) expect(await promptOnce(session, 'now')).toMatchObject({ kind: 'completed' });
        }
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'while the replacement starts leaves nothing of it',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        scene.observer.onAnswered = ({ name }) => {
          if (name === 'repairRuntime') scene.registry.mood = 'silent';
        };
        await using host = await scene.host({ version: '1.1.0' });
        const asked = scene.registry.requests(`/${AGENT}`).length;
        const launch = host.sessions.create(scene.session('one')).catch((error: unknown) => error);
        await until(() => scene.registry.requests(`/${AGENT}`).length > asked, {
          reason: 'npm to ask the registry again',
          withinMs: 60_000,
        });
        const session = await host.sessions.get('one');
        await session?.stop();
        expect(await launch).toMatchObject(TOLD.stop);
        expect(scene.calls('startAgent')).toHaveLength(2);
        expect(await session?.record()).toMatchObject({ state: 'stopped' });
        expect(await scene.starts('1.1.0')).toEqual([]);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });
}
