import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import {
  processIsAlive,
  processStartTime,
  testHome,
  until,
  waitForExit,
  type TestHome,
} from '@holdfast/testbeds';
import { openLedger } from '@holdfast/turn-ledger';
import { Backend } from '../fixtures/backend-driver.ts';
import { agentsIn, serverOf } from '../fixtures/situations.ts';
import { changeSecret, leaveSurvivor } from '../fixtures/survivor.ts';

const LONG_MS = 300_000;
const ENDS = { withinMs: 60_000 };

describe('a row whose control server was not adopted', () => {
  it(
    'stays, its session is told truthfully and gets no second agent, until the server is gone [SURVIVAL-003.6]',
    async () => {
      await using home = await testHome('kept-refused');
      await using survivor = await leaveSurvivor(home);
      await changeSecret(home, 'not a secret');
      await using backend = await Backend.ready(home);
      const { report } = await backend.waitForReady();
      expect(report).toMatch(/session one: not recovered: adoption refused.*; unknown: .*; row kept/);
      expect(await backend.do('record', 'one')).toMatchObject({ state: 'waiting_for_input' });
      expect((await backend.do('turns', 'one'))[0]).toMatchObject({ state: 'abandoned' });
      expect(await backend.do('task', 'task-one')).toMatchObject({ state: 'review', interrupted: true });
      expect(await backend.do('liveness', 'one')).toMatchObject({ liveness: 'unknown' });

      await expectRefused(backend, 'unknown');
      expect(await backend.do('reconcile', null)).toMatchObject([{ sessionId: 'one', repaired: false }]);
      await expect(backend.do('stop', 'one')).rejects.toMatchObject({ code: 'agent_not_gone' });
      // Others are none the worse for it.
      const two = await backend.create(home, 'two');
      expect(new Set(agentsIn(home.root))).toEqual(new Set([survivor.agent, two.agentPid]));

      await survivor.end();
      expect(await backend.do('liveness', 'one')).toMatchObject({ liveness: 'gone' });
      await expectGoesOn(backend);
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'is seen again by the next backend, and its agent is found as a process [SURVIVAL-003.6]',
    async () => {
      await using home = await testHome('kept-again');
      await using survivor = await leaveSurvivor(home);
      await changeSecret(home, 'not a secret');
      {
        await using second = await Backend.ready(home);
        await second.kill();
      }
      await using third = await Backend.ready(home);
      const { scopes, rows, report } = await third.waitForReady();
      expect(scopes).toMatchObject([{ server: 'adopted' }]);
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect(report).toContain(`alive: its agent, process ${String(survivor.agent)}, runs; row kept`);
      await expectRefused(third, 'alive');
      expect(processIsAlive(survivor.agent)).toBe(true);

      await survivor.end();
      expect(await third.do('reconcile', null)).toMatchObject([
        { sessionId: 'one', liveness: 'gone', repaired: true },
      ]);
      expect(await third.do('reconcile', null)).toEqual([]);
      await expectGoesOn(third);
      await third.close('stop');
    },
    LONG_MS,
  );
});

describe('a control server that does not answer', () => {
  it(
    'because it hangs: its agent lives, and no second one is started beside it [SURVIVAL-003.6]',
    async () => {
      await using home = await testHome('hung');
      await using survivor = await leaveSurvivor(home);
      process.kill(survivor.server, 'SIGSTOP');
      await using backend = await Backend.ready(home);
      const { scopes } = await backend.waitForReady();
      expect(scopes).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
      await expectRefused(backend, 'alive');
      expect(agentsIn(home.root)).toEqual([survivor.agent]);
      process.kill(survivor.server, 'SIGCONT');
      await survivor.end();
      await expectGoesOn(backend);
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'because it was killed: an agent that lives on keeps its session closed until it ends [SURVIVAL-003.6]',
    async () => {
      await using home = await testHome('orphan');
      const stubborn = {
        scripted: {
          command: scriptedAgentCommand(),
          environment: startBehaviour({ ignoreStdinEnd: true }),
        },
      };
      await using survivor = await leaveSurvivor(home, { agents: stubborn });
      process.kill(survivor.server, 'SIGKILL');
      await waitForExit(survivor.server, { ...ENDS, reason: 'the server was killed' });
      await using backend = await Backend.ready(home, { agents: stubborn });
      const { rows } = await backend.waitForReady();
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      await expectRefused(backend, 'alive');
      process.kill(survivor.agent, 'SIGKILL');
      await waitForExit(survivor.agent, { ...ENDS, reason: 'the agent was killed' });
      await expectGoesOn(backend);
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('a session that runs', () => {
  it(
    'is alive, whether it was launched or re-tracked, and gone once it is stopped [SURVIVAL-003.6]',
    async () => {
      await using home = await testHome('alive');
      {
        await using first = await Backend.ready(home);
        await first.create(home, 'one');
        expect(await first.do('liveness', 'one')).toEqual({
          liveness: 'alive',
          why: 'its instance is on its control server',
        });
        await first.kill();
      }
      await using second = await Backend.ready(home);
      expect(await second.do('liveness', 'one')).toMatchObject({ liveness: 'alive' });
      await second.do('stop', 'one');
      expect(await second.do('liveness', 'one')).toEqual({
        liveness: 'gone',
        why: 'nothing claims to run an agent for it',
      });
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'has the process of its agent on record, also after that was started again',
    async () => {
      await using home = await testHome('recorded');
      await using backend = await Backend.ready(home);
      const { agentPid } = await backend.create(home, 'one');
      await crashAgent(backend);
      await backend.do('outcome', await backend.prompt('one', 'again'));
      const again = await backend.instance('one');
      expect(again.agentPid).not.toBe(agentPid);
      const startTime = processStartTime(again.agentPid ?? 0);
      await backend.kill();

      await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
      const [row] = await ledger.executionRecords.listLive({ sessionId: 'one' });
      expect(row).toMatchObject({ instanceId: again.instanceId, agentProcess: { pid: again.agentPid } });
      expect(row?.agentProcess?.startTime).toContain(startTime);
      const server = await ledger.controlServers.read('standalone');
      expect(row?.serverId).toBe(server?.serverId);
      await ledger.close();
      await (await serverOf(home)).call('shutdown', {});
      await waitForExit(again.agentPid ?? 0, { ...ENDS, reason: 'it was stopped with its server' });
    },
    LONG_MS,
  );

  it(
    'has no process on record while its agent is started again, and has it from the next backend on if its own dies then',
    async () => {
      await using home = await testHome('restarting');
      const slow = {
        scripted: { command: scriptedAgentCommand(), environment: startBehaviour({ delayMs: 4000 }) },
      };
      let instanceId: string;
      {
        await using backend = await Backend.ready(home, { agents: slow });
        let agentPid: number | null;
        ({ agentPid, instanceId } = await backend.create(home, 'one'));
        await crashAgent(backend);
        backend.ask('prompt', { sessionId: 'one', text: 'again' });
        await until(() => agentsIn(home.root).some((pid) => pid !== agentPid), {
          reason: 'the agent to be started again',
          withinMs: 60_000,
        });
        await backend.kill();
      }
      expect(await recordedAgents(home)).toEqual([null]);
      const server = await serverOf(home);
      await until(async () => (await server.call('getInstance', { instanceId })).status === 'ready', {
        reason: 'the agent to be ready with nobody attached',
        withinMs: 60_000,
      });
      let agentPid: number | null;
      {
        await using next = await Backend.ready(home, { agents: slow });
        ({ agentPid } = await next.instance('one'));
        await next.kill();
      }
      expect(await recordedAgents(home)).toMatchObject([{ pid: agentPid }]);
      await (await serverOf(home)).call('shutdown', {});
      await waitForExit(agentPid ?? 0, { ...ENDS, reason: 'it was stopped with its server' });
    },
    LONG_MS,
  );

  it(
    'gets no second agent though its row was lost',
    async () => {
      await using home = await testHome('rowless');
      await using backend = await Backend.ready(home);
      const { workspacePath } = await backend.create(home, 'one');
      await backend.do('stop', 'one');
      // An instance that nobody wrote down, as a backend leaves it that dies in the middle of a launch.
      const server = await serverOf(home);
      await server.call('createInstance', {
        instanceId: 'forgotten',
        executionId: 'forgotten',
        sessionId: 'one',
        taskId: 'task-one',
        workspacePath,
        workspaceSourceRoots: [workspacePath],
        environment: {},
      });
      await expect(backend.prompt('one', 'go on')).rejects.toMatchObject({
        code: 'agent_not_gone',
        facts: { liveness: 'alive', why: 'instance forgotten of it is on standalone' },
      });
      await server.call('deleteInstance', { instanceId: 'forgotten' });
      await expectGoesOn(backend);
      await backend.close('stop');
    },
    LONG_MS,
  );
});

/** Lets the agent crash in its turn, and waits until its instance has none. */
async function crashAgent(backend: Backend): Promise<void> {
  await backend.do('outcome', await backend.prompt('one', script({ step: 'crash', exitCode: 7 })));
  await until(async () => (await backend.instance('one')).agentPid === null, {
    reason: 'the instance to have no agent',
    withinMs: 60_000,
  });
}

/** The processes of agents that live rows have on record. */
async function recordedAgents(home: TestHome): Promise<unknown> {
  await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
  return (await ledger.executionRecords.listLive()).map(({ agentProcess }) => agentProcess);
}

/** A prompt is refused with the reason, retryably, and that is told; nothing was started. */
async function expectRefused(backend: Backend, liveness: 'alive' | 'unknown'): Promise<void> {
  await expect(backend.prompt('one', 'go on')).rejects.toMatchObject({
    code: 'agent_not_gone',
    facts: { sessionId: 'one', retryable: true, liveness, why: expect.stringMatching(/./) },
  });
  expect(backend.published()).toContainEqual({
    name: 'launch.refused',
    sessionId: 'one',
    why: 'agent_not_gone',
  });
}

/** The next prompt starts an agent, which loads the conversation. */
async function expectGoesOn(backend: Backend): Promise<void> {
  expect(await backend.do('outcome', await backend.prompt('one', 'go on'))).toMatchObject({
    kind: 'completed',
  });
  expect(backend.published()).toContainEqual({
    name: 'session.restarted',
    sessionId: 'one',
    history: 'loaded',
  });
}
