import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { until } from '@holdfast/testbeds';
import { AGENT } from '../agent-package.ts';
import type { AgentPlace } from '../agent-place.ts';
import { executionKey, filesBelow, writeThere } from '../npm-cache.ts';
import { AGENT_ARGS, Scene, promptOnce } from '../scene.ts';

const LONG_MS = 300_000;
const SPEC = `${AGENT}@1.1.0`;
const TREE = `_npx/${executionKey(SPEC)}`;

/** What npm writes at every run: its log, its copies of what it was sent, and when it last looked for a newer npm. */
const NPMS_OWN = /^(?:_logs\/|_cacache\/|_update-notifier-last-checked$)/;

/** Stale metadata, mended without a word. */
export function describeMending(makePlace: () => Promise<AgentPlace>): void {
  describe('a version that was published after npm looked', () => {
    it(
      'is started all the same, once more and with fresh metadata, and nobody notices',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        // An installation that was broken off, and is to go.
        await writeThere(scene.place, `${scene.cache}/${TREE}/package.json`, '{"dependencies":{}}');
        await writeThere(scene.place, `${scene.cache}/${TREE}/marker`, 'old');
        await writeThere(scene.place, `${scene.place.root}/home/.npmrc`, 'fund=false\n');
        const homeBefore = await filesBelow(scene.place, `${scene.place.root}/home`);
        const before = await filesBelow(scene.place, scene.cache);

        await using host = await scene.host({ version: '1.1.0' });
        const session = await host.sessions.create(scene.session('one'));
        expect(await promptOnce(session, 'hello')).toMatchObject({ kind: 'completed' });

        expect(scene.steps()).toEqual(['startAgent', 'stopAgent', 'repairRuntime', 'startAgent']);
        expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });
        expect(scene.events.filter(({ name }) => name === 'host.error' || name === 'session.ended')).toEqual(
          [],
        );
        expect(scene.events).toContainEqual({
          name: 'runtime.repaired',
          sessionId: 'one',
          agent: 'acme',
          packageSpec: SPEC,
          removed: true,
        });
        // The child that failed has left no trace in the conversation.
        const types = new Set<string>();
        for await (const { event } of session.events()) {
          types.add(event.type);
          if (event.type === 'turn_ended') break;
        }
        expect([...types]).not.toContain('agent_exited');

        const after = await filesBelow(scene.place, scene.cache);
        expect(after[`${TREE}/marker`]).toBeUndefined();
        expect(after[`${TREE}/node_modules/${AGENT}/package.json`]).toBeDefined();
        const others = (files: Record<string, string>): Record<string, string> =>
          Object.fromEntries(
            Object.entries(files).filter(([path]) => !path.startsWith(`${TREE}/`) && !NPMS_OWN.test(path)),
          );
        expect(others(after)).toEqual(others(before));
        expect(Object.keys(others(before)).join()).toContain(executionKey(`${AGENT}@1.0.0`));
        // What npm had fetched before is there as it was.
        const contents = Object.entries(before).filter(([path]) => path.startsWith('_cacache/content-v2/'));
        expect(contents.length).toBeGreaterThan(0);
        expect(after).toMatchObject(Object.fromEntries(contents));
        expect(await filesBelow(scene.place, `${scene.place.root}/home`)).toEqual(homeBefore);
        expect(scene.connectionsOutside).toBe(0);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'is started as it was at first, in everything but what npm prefers',
      async () => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        await using host = await scene.host({ version: '1.1.0' });
        const session = await host.sessions.create(scene.session('one', { runId: 'run-7' }));

        const [first, second, ...more] = scene.calls('startAgent').map(({ input }) => input);
        expect(more).toEqual([]);
        expect(first).toMatchObject({
          command: ['npx', '--yes', '--prefer-offline', SPEC, ...AGENT_ARGS],
          npmRuntime: { packageSpec: SPEC },
          session: { kind: 'new' },
          modeId: 'auto',
          approval: 'ask',
        });
        expect(JSON.stringify(second)).toBe(
          JSON.stringify(first).replace('--prefer-offline', '--prefer-online'),
        );
        const [start, ...moreStarts] = await scene.starts('1.1.0');
        expect(moreStarts).toEqual([]);
        expect(start).toMatchObject({ args: AGENT_ARGS });
        const { environment } = start ?? { environment: {} };
        expect(environment).toMatchObject({ KANDEV_RUN_ID: 'run-7', ...scene.environment() });
        // The conversation has its place in the workspace, the program has not: what is installed there has no say.
        expect(start?.workingDirectory).not.toBe(scene.place.workspace);
        expect(await promptOnce(session, script({ step: 'touch', file: 'made-here' }))).toMatchObject({
          kind: 'completed',
        });
        expect(await filesBelow(scene.place, scene.place.workspace)).toHaveProperty('made-here');
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it.each<[string, Readonly<Record<string, string>>, string]>([
      ['environment', { npm_config_prefer_offline: 'true' }, ''],
      ['user’s own settings', {}, 'prefer-offline=true\n'],
    ])(
      'is started all the same where the %s would rather have what is cached',
      async (_where, environment, npmrc) => {
        await using scene = await Scene.at(await makePlace());
        await scene.cached(`${AGENT}@1.0.0`);
        await scene.publish('1.1.0');
        await writeThere(scene.place, `${scene.place.root}/home/.npmrc`, npmrc);
        await using host = await scene.host({ version: '1.1.0', environment });
        const session = await host.sessions.create(scene.session('one'));
        expect(scene.steps()).toEqual(['startAgent', 'stopAgent', 'repairRuntime', 'startAgent']);
        expect(await promptOnce(session, 'hello')).toMatchObject({ kind: 'completed' });
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );

    it(
      'replaces an agent that is gone, and goes on with its conversation',
      async () => {
        await using scene = await Scene.at(await makePlace());
        let instanceId: string | undefined;
        {
          await using host = await scene.host({ version: '1.0.0', survival: 'on' });
          const session = await host.sessions.create(scene.session('one'));
          expect(await promptOnce(session, 'remember me')).toMatchObject({ kind: 'completed' });
          instanceId = (await session.instance())?.instanceId;
        }
        await scene.publish('1.1.0');
        scene.observer.calls.length = 0;
        await using host = await scene.host({ version: '1.1.0', survival: 'on' });
        const session = await host.sessions.get('one');
        if (session === null) throw new Error('the session is not there');
        await promptOnce(session, script({ step: 'crash' }));
        await until(async () => (await session.instance())?.agentPid === null, {
          reason: 'the agent to be gone',
          withinMs: 60_000,
        });
        expect(scene.steps()).toEqual([]);
        expect(await promptOnce(session, 'still there?')).toMatchObject({ kind: 'completed' });
        expect(scene.steps()).toEqual(['startAgent', 'stopAgent', 'repairRuntime', 'startAgent']);
        expect(scene.events).toContainEqual({
          name: 'session.restarted',
          sessionId: 'one',
          history: 'loaded',
        });
        expect((await session.instance())?.instanceId).toBe(instanceId);
        expect(await scene.starts('1.1.0')).toHaveLength(1);
        await host.close({ agents: 'stop' });
      },
      LONG_MS,
    );
  });
}
