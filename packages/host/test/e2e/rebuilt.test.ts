import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { listProcesses, processIsAlive, testHome, until } from '@holdfast/testbeds';
import { openLedger } from '@holdfast/turn-ledger';
import { createSession, hostHere, sessionOf, type HostHere } from '../fixtures/hosts.ts';
import { agentsIn, serverOf, touch } from '../fixtures/situations.ts';
import { proxyToServerOf, tunnelled } from '../fixtures/tunnelled.ts';

const LONG_MS = 300_000;

function outcomes({ host }: HostHere): unknown {
  return Object.fromEntries(host.recovery.rows.map(({ row, outcome }) => [row.sessionId, outcome]));
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

function commandLineOf(pid: number | null): string {
  return listProcesses().find((process) => process.pid === pid)?.commandLine ?? '';
}

describe('an execution after a restart', () => {
  it(
    'has everything that it was launched with, its environment and roots included, and none of it is pushed [SURVIVAL-002.3, SURVIVAL-002.5, CONTRACT-08, CONTRACT-09, CONTRACT-10]',
    async () => {
      await using home = await testHome('rebuilt');
      const agents = {
        scripted: {
          command: scriptedAgentCommand(),
          continuationCommand: [...scriptedAgentCommand(), '--continued'],
          history: 'required',
          agentId: 'gardener',
          environment: { TOKEN: 'hush' },
        },
      } as const;
      await using first = await hostHere(home, { agents });
      const one = await createSession(first, home, 'one', {
        runId: 'run-7',
        taskEnvironmentId: 'environment-7',
        metadata: { officeProfileId: 'office-3' },
      });
      const two = await createSession(first, home, 'two');
      const before = [one.execution, two.execution];
      await first.host.close({ agents: 'keep' });
      expect(one.execution).toBeNull();

      await using proxy = await proxyToServerOf(home);
      await using second = await hostHere(home, { agents, runtimes: [tunnelled(proxy.url)] });
      const after = [(await sessionOf(second, 'one')).execution, (await sessionOf(second, 'two')).execution];
      expect(after).toEqual(before);
      expect(after.map((execution) => execution?.environment)).toEqual([
        { TOKEN: 'hush', KANDEV_RUN_ID: 'run-7' },
        { TOKEN: 'hush' },
      ]);
      expect(after[0]).toMatchObject({
        runId: 'run-7',
        taskEnvironmentId: 'environment-7',
        metadata: { officeProfileId: 'office-3' },
        agentId: 'gardener',
        workspaceSourceRoots: [home.path('workspaces', 'one')],
      });
      expect(after[1]).toMatchObject({ runId: null, taskEnvironmentId: null });

      // Work goes on, and still nobody has told the server of any roots.
      const turn = await (await sessionOf(second, 'one')).prompt('go on');
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      expect(proxy.seen.filter((seen) => /^PUT|workspace-roots/.test(seen))).toEqual([]);
      const server = await serverOf(home);
      const instanceId = after[0]?.instanceId ?? '';
      expect(await server.call('getReconstruction', { instanceId })).toMatchObject({
        workspaceSourceRoots: [home.path('workspaces', 'one')],
      });
      expect(JSON.stringify([after, second.published, second.host.report()])).not.toContain('hush');
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );

  it(
    'follows a profile that was edited meanwhile: what runs goes on, the next start takes the new command [CONTRACT-07, SURVIVAL-002.3]',
    async () => {
      await using home = await testHome('edited');
      await using first = await hostHere(home);
      const { execution } = await createSession(first, home, 'one');
      const agentPid = (await (await sessionOf(first, 'one')).instance())?.agentPid ?? 0;
      await first.host.close({ agents: 'keep' });

      const command = [...scriptedAgentCommand(), '--edited'];
      const continuationCommand = [...command, '--continued'];
      await using second = await hostHere(home, {
        agents: { scripted: { command, continuationCommand, agentId: 'baker' } },
      });
      expect(outcomes(second)).toEqual({ one: { kind: 'retracked' } });
      const session = await sessionOf(second, 'one');
      expect(session.execution).toMatchObject({ agentId: 'baker', command, continuationCommand });
      expect(session.execution?.providerSessionId).toBe(execution?.providerSessionId);
      expect((await session.instance())?.agentPid).toBe(agentPid);
      expect(commandLineOf(agentPid)).not.toContain('--edited');

      const crash = await session.prompt(script({ step: 'crash', exitCode: 3 }));
      await crash.outcome;
      await until(() => !processIsAlive(agentPid), { reason: 'the agent to end', withinMs: 60_000 });
      await until(async () => (await session.instance())?.agentPid === null, {
        reason: 'the instance to have no agent',
        withinMs: 60_000,
      });
      const turn = await session.prompt('again');
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      const restarted = commandLineOf((await session.instance())?.agentPid ?? 0);
      expect(restarted).toContain('--edited --continued');
      expect(second.published).toContainEqual({
        name: 'session.restarted',
        sessionId: 'one',
        history: 'loaded',
      });
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );

  it(
    'whose agent is in no profile any more is stopped, named, and can be told why; others go on [SURVIVAL-002.4, SURVIVAL-002.11]',
    async () => {
      await using home = await testHome('gone');
      const scripted = { command: scriptedAgentCommand() };
      await using first = await hostHere(home, { agents: { scripted, other: scripted } });
      await createSession(first, home, 'one');
      const two = await createSession(first, home, 'two', { agent: 'other' });
      const agentPid = (await two.instance())?.agentPid ?? 0;
      await first.host.close({ agents: 'keep' });

      await using second = await hostHere(home, { agents: { scripted } });
      expect(outcomes(second)).toEqual({
        one: { kind: 'retracked' },
        two: { kind: 'missing_input', name: 'profile' },
      });
      expect(second.host.report()).toContain('session two: stopped: profile is missing');
      expect(processIsAlive(agentPid)).toBe(false);
      const session = await sessionOf(second, 'two');
      expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });
      await expect(session.prompt('hello')).rejects.toMatchObject({ code: 'host_option_not_accepted' });
      await second.host.close({ agents: 'keep' });

      // With the profile back the session goes on where it was.
      await using third = await hostHere(home, { agents: { scripted, other: scripted } });
      const turn = await (await sessionOf(third, 'two')).prompt('hello again');
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      expect(third.published).toContainEqual({
        name: 'session.restarted',
        sessionId: 'two',
        history: 'loaded',
      });
      await third.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );

  it(
    'is published as waiting for input though its first backend died before it wrote down that the agent had started',
    async () => {
      await using home = await testHome('starting');
      await using first = await hostHere(home);
      await createSession(first, home, 'one');
      await first.host.close({ agents: 'keep' });
      {
        await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
        await ledger.sessions.setState('one', 'starting');
      }
      await using second = await hostHere(home);
      expect(await (await sessionOf(second, 'one')).record()).toMatchObject({ state: 'waiting_for_input' });
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

describe('the history setting', () => {
  it(
    'decides whether an agent that is started again loads the conversation',
    async () => {
      await using home = await testHome('history');
      const command = scriptedAgentCommand();
      const forgetful = { SCRIPTED_AGENT_START: '{"loadSession":false}' };
      await using hosts = await hostHere(home, {
        agents: {
          scripted: { command },
          none: { command, history: 'none' },
          required: { command, history: 'required', environment: forgetful },
          preferred: { command, environment: forgetful },
        },
      });
      const restartedAs = async (agent: string): Promise<unknown> => {
        const session = await createSession(hosts, home, agent, { agent });
        await session.stop();
        try {
          await (
            await session.prompt('hello')
          ).outcome;
        } catch (error) {
          return codeOf(error);
        }
        return hosts.published.findLast(
          (event) => event.name === 'session.restarted' && event.sessionId === agent,
        );
      };
      const restarted = (sessionId: string, history: string) => ({
        name: 'session.restarted',
        sessionId,
        history,
      });
      expect(await restartedAs('scripted')).toEqual(restarted('scripted', 'loaded'));
      expect(await restartedAs('none')).toEqual({
        ...restarted('none', 'lost'),
        why: 'The agent is to start without its history.',
      });
      expect(await restartedAs('preferred')).toMatchObject(restarted('preferred', 'lost'));
      expect(await restartedAs('required')).toBe('agent_start_failed');
      await hosts.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

describe('the end of a turn between re-tracking and the attachment of its stream', () => {
  it(
    'is delivered when the stream is attached, once [SURVIVAL-004.3, SURVIVAL-004.4]',
    async () => {
      await using home = await testHome('gap');
      await using first = await hostHere(home);
      const session = await createSession(first, home, 'one');
      const { id: turnId } = await session.prompt(
        script({ step: 'waitFor', file: home.path('go') }, { step: 'say', text: 'in the gap' }),
      );
      await first.host.close({ agents: 'keep' });

      await using proxy = await proxyToServerOf(home);
      const attach = Promise.withResolvers<void>();
      proxy.treat(/^GET \/instances\/[^/]+\/events/, { hold: attach.promise });
      await using second = await hostHere(home, { runtimes: [tunnelled(proxy.url)] });
      expect(outcomes(second)).toEqual({ one: { kind: 'retracked' } });
      const again = await sessionOf(second, 'one');
      expect(await again.record()).toMatchObject({ state: 'running' });
      const instanceId = again.execution?.instanceId ?? '';
      const server = await serverOf(home);
      await touch(home.path('go'));
      await until(async () => (await server.call('getTurn', { instanceId })).retained.length === 1, {
        reason: 'the turn to end while no stream is attached',
        withinMs: 60_000,
      });
      expect((await server.call('getInstance', { instanceId })).attached).toBe(false);
      expect((await second.host.turns.list('one'))[0]).toMatchObject({ turnId, state: 'running' });
      expect(second.published.map(({ name }) => name)).not.toContain('turn.outcome');

      attach.resolve();
      expect(await (await second.host.turns.get(turnId))?.outcome).toEqual({
        kind: 'completed',
        stopReason: 'end_turn',
      });
      await until(async () => (await server.call('getTurn', { instanceId })).retained.length === 0, {
        reason: 'the outcome to be acknowledged',
        withinMs: 60_000,
      });
      expect(second.published.filter(({ name }) => name === 'turn.outcome')).toHaveLength(1);
      expect(await again.record()).toMatchObject({ state: 'waiting_for_input' });
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

describe('a turn status that cannot be read', () => {
  it(
    'costs that session its instance, not another one its own; with none retained an active turn is running [SURVIVAL-004.5, SURVIVAL-002.11]',
    async () => {
      await using home = await testHome('unread');
      const settings = { recoveryReadTimeoutMs: 3000, recoveryReadRetries: 1 };
      await using first = await hostHere(home, { settings });
      const turns = new Map<string, string>();
      const pids = new Map<string, number>();
      for (const sessionId of ['unread', 'well']) {
        const session = await createSession(first, home, sessionId);
        pids.set(sessionId, (await session.instance())?.agentPid ?? 0);
        const turn = await session.prompt(
          script({ step: 'waitFor', file: home.path('go') }, { step: 'say', text: 'done' }),
        );
        turns.set(sessionId, turn.id);
      }
      const unread = (await sessionOf(first, 'unread')).execution?.instanceId ?? '';
      await first.host.close({ agents: 'keep' });

      await using proxy = await proxyToServerOf(home);
      proxy.treat(`GET /instances/${unread}/turn`, 'hang');
      await using second = await hostHere(home, { settings, runtimes: [tunnelled(proxy.url)] });
      expect(outcomes(second)).toEqual({
        unread: { kind: 'failed_read', name: 'turn', detail: expect.any(String) },
        well: { kind: 'retracked' },
      });
      expect(proxy.seen.filter((seen) => seen.startsWith(`GET /instances/${unread}/turn`))).toHaveLength(2);
      expect([...pids.values()].map(processIsAlive)).toEqual([false, true]);
      expect(await (await sessionOf(second, 'unread')).record()).toMatchObject({
        state: 'waiting_for_input',
      });
      expect(await (await sessionOf(second, 'well')).record()).toMatchObject({ state: 'running' });
      expect(await (await second.host.turns.get(turns.get('unread') ?? ''))?.outcome).toMatchObject({
        kind: 'abandoned',
      });
      await touch(home.path('go'));
      expect(await (await second.host.turns.get(turns.get('well') ?? ''))?.outcome).toMatchObject({
        kind: 'completed',
      });
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

describe('recovery that runs twice', () => {
  it(
    'changes nothing and doubles nothing: the same agents, the same ledger [SURVIVAL-002.9]',
    async () => {
      await using home = await testHome('twice');
      await using first = await hostHere(home);
      const running = await createSession(first, home, 'running');
      await running.prompt(script({ step: 'chunks', count: 3 }, { step: 'silence' }));
      const done = await createSession(first, home, 'done');
      await (
        await done.prompt('hello')
      ).outcome;
      await createSession(first, home, 'fresh');
      // What the agents have said so far is stored, so nothing is left to arrive.
      for await (const { position } of running.events()) if (position === 4) break;
      await first.host.close({ agents: 'keep' });
      const agents = agentsIn(home.root).toSorted((a, b) => a - b);
      const before = await ledgerOf(home.path('home', 'ledger.db'));

      for (let time = 1; time <= 2; time += 1) {
        await using host = await hostHere(home);
        expect(outcomes(host)).toEqual({
          running: { kind: 'retracked' },
          done: { kind: 'retracked' },
          fresh: { kind: 'retracked' },
        });
        await host.host.close({ agents: 'keep' });
        expect(agentsIn(home.root).toSorted((a, b) => a - b)).toEqual(agents);
        expect(await ledgerOf(home.path('home', 'ledger.db'))).toEqual(before);
      }
      await using last = await hostHere(home);
      await last.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

describe('a host whose recovery reaches its deadline', () => {
  it(
    'is there at once; sessions whose stop is under way refuse launches until it is known how that ends [SURVIVAL-003.7, SURVIVAL-002.8, SURVIVAL-002.16]',
    async () => {
      await using home = await testHome('deadline');
      const settings = { recoveryDeadlineMs: 15_000, recoveryReadTimeoutMs: 3000, recoveryReadRetries: 0 };
      await using first = await hostHere(home);
      const pids: number[] = [];
      for (const sessionId of ['stoppable', 'unstoppable']) {
        const session = await createSession(first, home, sessionId);
        pids.push((await session.instance())?.agentPid ?? 0);
        await session.prompt(script({ step: 'silence' }));
      }
      const unstoppable = (await sessionOf(first, 'unstoppable')).execution?.instanceId ?? '';
      await first.host.close({ agents: 'keep' });

      await using proxy = await proxyToServerOf(home);
      proxy.treat(`DELETE /instances/${unstoppable}`, 'hang');
      const tooLate = async (): Promise<void> => {
        const adoptedAt = performance.now();
        await until(() => performance.now() - adoptedAt > settings.recoveryDeadlineMs, {
          reason: 'the deadline to pass',
          withinMs: 60_000,
        });
      };
      await using second = await hostHere(home, { settings, runtimes: [tunnelled(proxy.url, tooLate)] });
      expect(outcomes(second)).toEqual({
        stoppable: { kind: 'deadline' },
        unstoppable: { kind: 'deadline' },
      });
      const session = await sessionOf(second, 'unstoppable');
      await expect(session.prompt('hello')).rejects.toMatchObject({
        code: 'session_recovering',
        retryable: true,
      });
      expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });
      await until(
        async () => {
          const error: unknown = await session.prompt('hello').catch((reason: unknown) => reason);
          return codeOf(error) === 'agent_unstoppable';
        },
        { reason: 'the stop to fail over its budget', withinMs: 60_000 },
      );
      await expect(session.prompt('hello')).rejects.toMatchObject({
        code: 'agent_unstoppable',
        retryable: false,
        instanceIds: [unstoppable],
      });
      expect(pids.map(processIsAlive)).toEqual([false, true]);

      // The other one has its agent in a new instance, and nobody has two.
      const turn = await (await sessionOf(second, 'stoppable')).prompt('hello');
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      expect(agentsIn(home.root)).toHaveLength(2);
      await second.host.close({ agents: 'stop' });
    },
    LONG_MS,
  );
});

/** All that the ledger says, but for times of change. */
async function ledgerOf(url: string): Promise<unknown> {
  await using ledger = await openLedger({ url });
  const sessions = await ledger.sessions.list();
  return {
    sessions: sessions.map(({ updatedAt, ...session }) => [session, typeof updatedAt]),
    rows: await ledger.executionRecords.listLive(),
    turns: await Promise.all(sessions.map(async ({ sessionId }) => await ledger.turns.list(sessionId))),
    events: await Promise.all(
      sessions.map(async ({ sessionId }) => await ledger.events.read(sessionId, { after: 0, limit: 1000 })),
    ),
  };
}
