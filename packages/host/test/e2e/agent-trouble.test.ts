import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import { processIsAlive, signalProcess, testHome, until, waitForExit } from '@holdfast/testbeds';
import { Backend, chunkTexts } from '../fixtures/backend-driver.ts';
import { agentsIn } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

describe('an agent that crashes in mid-turn', () => {
  it(
    'fails its turn, and the next prompt goes on in the same instance with its history loaded',
    async () => {
      await using home = await testHome('crash');
      await using backend = await Backend.ready(home);
      const { instanceId, agentPid } = await backend.create(home, 'one');
      await backend.do('outcome', await backend.prompt('one', 'remember me'));
      const turnId = await backend.prompt(
        'one',
        script({ step: 'say', text: 'oh' }, { step: 'crash', exitCode: 7 }),
      );
      expect(await backend.do('outcome', turnId)).toMatchObject({
        kind: 'failed',
        stopReason: 'agent_exited',
      });
      expect(await backend.do('record', 'one')).toMatchObject({ state: 'failed' });
      expect(await backend.do('task', 'task-one')).toMatchObject({ failed: true });
      await until(async () => (await backend.instance('one')).agentPid === null, {
        reason: 'the instance to have no agent',
        withinMs: 60_000,
      });

      expect(await backend.do('outcome', await backend.prompt('one', 'again'))).toMatchObject({
        kind: 'completed',
      });
      const instance = await backend.instance('one');
      expect(instance.instanceId).toBe(instanceId);
      expect(instance.agentPid).not.toBe(agentPid);
      expect(backend.published()).toContainEqual({
        name: 'session.restarted',
        sessionId: 'one',
        history: 'loaded',
      });
      // What the agent replayed while it was loaded is history, not new output.
      expect(chunkTexts(await backend.allEvents('one'))).toEqual(['remember me', 'oh', 'again']);
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('an agent that does not start', () => {
  it(
    'is told as such, leaves nothing behind, and another prompt tries again',
    async () => {
      await using home = await testHome('start');
      const broken = {
        scripted: {
          command: scriptedAgentCommand(),
          environment: startBehaviour({ exit: 3, stderr: 'out of luck' }),
        },
      };
      {
        await using backend = await Backend.ready(home, { agents: broken });
        await expect(backend.create(home, 'one')).rejects.toMatchObject({
          code: 'agent_start_failed',
          facts: { sessionId: 'one', agent: 'scripted' },
        });
        expect(await backend.do('record', 'one')).toMatchObject({ state: 'failed' });
        expect(await backend.do('instance', 'one')).toBeNull();
        expect(agentsIn(home.root)).toEqual([]);
        await backend.close('keep');
      }
      await using backend = await Backend.ready(home);
      expect((await backend.waitForReady()).rows).toEqual([]);
      expect(await backend.do('outcome', await backend.prompt('one', 'hello'))).toMatchObject({
        kind: 'completed',
      });
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('an agent that is still starting', () => {
  it.each(['stop', 'cancel'] as const)(
    'is given up by a %s, and another prompt starts one',
    async (way) => {
      await using home = await testHome('give-up');
      const silent = {
        scripted: { command: scriptedAgentCommand(), environment: startBehaviour({ silent: true }) },
      };
      {
        await using backend = await Backend.ready(home, { agents: silent });
        const launch = backend.create(home, 'one').catch((error: unknown) => error);
        await until(() => agentsIn(home.root).length === 1, { reason: 'the agent', withinMs: 60_000 });
        await backend.do(way, 'one');
        expect(await launch).toMatchObject({ code: 'agent_start_cancelled', facts: { sessionId: 'one' } });
        expect(agentsIn(home.root)).toEqual([]);
        expect(await backend.do('record', 'one')).toMatchObject({
          state: way === 'stop' ? 'stopped' : 'failed',
        });
        expect(await backend.do('instance', 'one')).toBeNull();
        await backend.close('keep');
      }
      await using backend = await Backend.ready(home);
      expect(await backend.do('outcome', await backend.prompt('one', 'hello'))).toMatchObject({
        kind: 'completed',
      });
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'leaves nothing in the way when it was to replace one that crashed',
    async () => {
      await using home = await testHome('give-up-again');
      let instanceId: string;
      {
        await using backend = await Backend.ready(home);
        ({ instanceId } = await backend.create(home, 'one'));
        await backend.close('keep');
      }
      {
        const mute = { scripted: { command: [process.execPath, '-e', 'process.stdin.resume()'] } };
        await using backend = await Backend.ready(home, { agents: mute });
        await backend.do('outcome', await backend.prompt('one', script({ step: 'crash' })));
        await until(
          async () => (await backend.allEvents('one')).some(({ event }) => event.type === 'agent_exited'),
          { reason: 'the end of the agent to be stored', withinMs: 60_000 },
        );
        const prompt = backend.prompt('one', 'again').catch((error: unknown) => error);
        await until(async () => (await backend.instance('one')).status === 'starting', {
          reason: 'the next agent to be starting',
          withinMs: 60_000,
        });
        expect(await backend.do('cancel', 'one')).toBe(true);
        expect(await prompt).toMatchObject({ code: 'agent_start_cancelled', facts: { sessionId: 'one' } });
        expect(await backend.instance('one')).toMatchObject({ status: 'idle', agentPid: null });
        await backend.close('keep');
      }
      await using backend = await Backend.ready(home);
      expect(await backend.do('outcome', await backend.prompt('one', 'hello'))).toMatchObject({
        kind: 'completed',
      });
      expect(await backend.instance('one')).toMatchObject({ instanceId });
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('a session', () => {
  it(
    'takes one prompt at a time, can be cancelled, stopped, and prompted again [GENERATION-02]',
    async () => {
      await using home = await testHome('prompts');
      await using backend = await Backend.ready(home);
      const { agentPid } = await backend.create(home, 'one');
      const silent = await backend.prompt('one', script({ step: 'silence' }));
      await expect(backend.prompt('one', 'too early')).rejects.toMatchObject({
        code: 'turn_in_progress',
        facts: { sessionId: 'one' },
      });
      expect(await backend.do('cancel', 'one')).toBe(true);
      expect(await backend.do('outcome', silent)).toMatchObject({ kind: 'cancelled' });
      expect(await backend.do('cancel', 'one')).toBe(false);
      expect(await backend.do('outcome', await backend.prompt('one', 'now'))).toMatchObject({
        kind: 'completed',
      });
      // The refused prompt was no attempt: it has no turn, and took no number.
      expect((await backend.do('turns', 'one')).map(({ promptGeneration }) => promptGeneration)).toEqual([
        1, 2,
      ]);

      const open = await backend.prompt('one', script({ step: 'silence' }));
      await backend.do('stop', 'one');
      await waitForExit(agentPid ?? 0, { withinMs: 60_000, reason: 'the agent to be stopped' });
      expect(await backend.do('outcome', open)).toEqual({
        kind: 'cancelled',
        stopReason: 'agent_stopped',
      });
      expect(await backend.do('record', 'one')).toMatchObject({ state: 'stopped' });
      expect(await backend.do('outcome', await backend.prompt('one', 'back'))).toMatchObject({
        kind: 'completed',
      });
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'gets another agent by the very prompt that finds it killed',
    async () => {
      await using home = await testHome('agent-killed');
      await using backend = await Backend.ready(home);
      const { agentPid, providerSessionId } = await backend.create(home, 'one');
      for (let kills = 0, pid = agentPid; kills < 3; kills += 1) {
        signalProcess(pid, 'SIGKILL');
        // Before that its server would take the prompt, and the turn fail.
        await until(async () => (await backend.instance('one')).agentPid === null, {
          reason: 'its server to know',
          withinMs: 60_000,
        });
        const turnId = await backend.prompt('one', 'still there?');
        expect(await backend.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
        pid = (await backend.instance('one')).agentPid;
      }
      expect(await backend.do('record', 'one')).toMatchObject({ providerSessionId });
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'gets another agent when its control server is killed, once the host is started again',
    async () => {
      await using home = await testHome('server-killed');
      let agentPid: number | null;
      {
        await using first = await Backend.ready(home);
        ({ agentPid } = await first.create(home, 'one'));
        await first.prompt('one', script({ step: 'silence' }));
        const server = await until(() => first.serverPid(home), {
          reason: 'the server’s pid',
          withinMs: 60_000,
        });
        process.kill(server, 'SIGKILL');
        await first.waitForPublished('session.detached');
        await first.close('keep');
      }
      await waitForExit(agentPid ?? 0, { withinMs: 60_000, reason: 'the agent to end with its pipes' });
      await using second = await Backend.ready(home);
      const { rows, scopes } = await second.waitForReady();
      expect(scopes).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect((await second.do('turns', 'one'))[0]).toMatchObject({ state: 'abandoned' });
      expect(await second.do('task', 'task-one')).toMatchObject({ state: 'review', interrupted: true });
      expect(await second.do('outcome', await second.prompt('one', 'hello'))).toMatchObject({
        kind: 'completed',
      });
      expect(processIsAlive((await second.instance('one')).agentPid ?? 0)).toBe(true);
      await second.close('stop');
    },
    LONG_MS,
  );
});
