import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Instance } from '@holdfast/control-protocol';
import type { ExecutionRecord, ExecutorRuntime, OwnedControlServer } from '@holdfast/executor-contract';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { processIsAlive, until } from '@holdfast/testbeds';
import {
  SessionGuards,
  type OutcomeApplication,
  type RecoveryReport,
  type RetrackedSession,
} from '../src/index.ts';
import { SCOPE } from './fixtures/backend.ts';
import { plainSessions, profileOf } from './fixtures/ports.ts';
import { Recovering, outcomesOf } from './fixtures/recovering.ts';
import { row } from './fixtures/rows.ts';
import { launchOn } from './fixtures/survivor-runtime.ts';

let them: Recovering;

beforeEach(async () => {
  them = await Recovering.start('recover');
});

afterEach(async () => {
  await them[Symbol.asyncDispose]();
});

/** An instance of the first backend with a running agent, as its row names it. */
async function liveSession(sessionId: string, given: Partial<ExecutionRecord> = {}): Promise<LiveSession> {
  const executionId = given.executionId ?? `execution-${sessionId}`;
  const created = await instanceWithoutAgent(sessionId, executionId);
  await them.first.client.call('startAgent', {
    instanceId: created.instanceId,
    command: scriptedAgentCommand(),
    session: { kind: 'new' },
    mcpServers: [],
    approval: 'allow',
  });
  const instance = await them.first.client.call('getInstance', { instanceId: created.instanceId });
  const { instanceId } = instance;
  return {
    instance,
    record: row(sessionId, { executionId, instanceId, workspacePath: them.place.home, ...given }),
  };
}

interface LiveSession {
  readonly instance: Instance;
  readonly record: ExecutionRecord;
}

async function instanceWithoutAgent(sessionId: string, executionId: string): Promise<Instance> {
  const launched = await launchOn(them.first, {
    executionId,
    sessionId,
    taskId: `task-${sessionId}`,
    workspacePath: them.place.home,
    workspaceSourceRoots: [them.place.home],
    environment: { KANDEV_RUN_ID: `run-${sessionId}`, TOKEN: 'hush' },
  });
  return launched.instance;
}

interface Recovered {
  readonly report: RecoveryReport;
  readonly published: readonly RetrackedSession[];
  readonly applied: readonly OutcomeApplication[];
  readonly guards: SessionGuards;
  readonly client: OwnedControlServer['client'];
}

/** A new backend recovers these rows. */
async function recoverRows(
  rows: readonly ExecutionRecord[],
  given: Parameters<Recovering['recover']>[1] = {},
): Promise<Recovered> {
  const applied: OutcomeApplication[] = [];
  const { runtime, guards, published, report } = await them.recover(rows, {
    ports: {
      profiles: { resolve: async () => await Promise.resolve(profileOf('as', 'it', 'is', 'now')) },
      sessions: plainSessions,
      outcomes: {
        apply: async (application) => {
          applied.push(application);
          return await Promise.resolve({ sessionState: 'waiting_for_input' });
        },
      },
    },
    onEvent: (event) => them.place.events.push(event),
    ...given,
  });
  return { report: await report, published, applied, guards, client: runtime.server.client };
}

async function prompt(instanceId: string, text: string): Promise<string> {
  const { turnId } = await them.first.client.call('prompt', {
    instanceId,
    promptGeneration: 1,
    content: [{ type: 'text', text }],
  });
  return turnId;
}

describe('recover', () => {
  it('re-tracks live sessions: same instance, same agent, everything a launched execution has [CONTRACT-04] [CONTRACT-05] [SURVIVAL-002.1]', async () => {
    const one = await liveSession('s1', { metadata: { colour: 'green' } });
    const two = await liveSession('s2');
    const { report, published, guards } = await recoverRows([one.record, two.record]);

    expect(report.counts).toEqual({ retracked: 2 });
    expect(new Set(published.map(({ instance }) => instance.agentPid))).toEqual(
      new Set([one.instance.agentPid, two.instance.agentPid]),
    );
    const session = published.find(({ record }) => record === one.record);
    expect(session).toMatchObject({
      sessionState: 'waiting_for_input',
      turn: { active: null, retained: [] },
    });
    expect(session?.execution).toMatchObject({
      executionId: 'execution-s1',
      sessionId: 's1',
      taskId: 'task-s1',
      instanceId: one.instance.instanceId,
      scope: SCOPE,
      workspaceSourceRoots: [them.place.home],
      providerSessionId: one.instance.providerSessionId,
      runId: 'run-s1',
      metadata: { colour: 'green' },
      command: ['as', 'it', 'is', 'now'],
    });
    expect(session?.execution.environment).toEqual({ KANDEV_RUN_ID: 'run-s1', TOKEN: 'hush' });
    expect(guards.admitLaunch('s1')).toEqual({ kind: 'admitted' });

    expect(String(report)).toContain('session s1: re-tracked');
    expect(String(report)).toMatch(/2 of 2 re-tracked, \d+ ms after first contact$/);
    expect(JSON.stringify([report, them.place.events])).not.toContain('hush');
  });

  it('starts no agent and asks none to resume [SURVIVAL-001.4]', async () => {
    const { record } = await liveSession('s1');
    await recoverRows([record]);
    expect(them.tunnel.seen.filter((what) => what.includes('/agent/'))).toEqual([]);
    expect(them.tunnel.seen.filter((what) => /^(PUT|DELETE)/.test(what))).toEqual([]);
  });

  it('re-tracks the one live instance of a session under another execution id [SURVIVAL-002.2]', async () => {
    const { instance, record } = await liveSession('s1');
    const { report, published } = await recoverRows([
      { ...record, executionId: 'another', instanceId: 'another' },
    ]);
    expect(report.counts).toEqual({ retracked: 1 });
    expect(published[0]?.execution).toMatchObject({
      executionId: 'another',
      instanceId: instance.instanceId,
    });
  });

  it('stops a live instance without a row, and leaves a row without an instance to repair [SURVIVAL-002.6] [SURVIVAL-002.7]', async () => {
    const stranger = await liveSession('stranger');
    const { report, client } = await recoverRows([row('gone')]);
    expect(outcomesOf(report)).toEqual({ gone: { kind: 'no_instance' } });
    expect((await client.call('listInstances', {})).instances).toEqual([]);
    expect(processIsAlive(stranger.instance.agentPid ?? 0)).toBe(false);
    expect(them.place.events).toContainEqual({
      name: 'instance.stopped',
      scope: SCOPE,
      instanceId: stranger.instance.instanceId,
      sessionId: 'stranger',
      why: 'no_row',
    });
  });

  it('keeps of several live instances only the one that the row names [SURVIVAL-002.10]', async () => {
    const { instance, record } = await liveSession('s1');
    const duplicate = await instanceWithoutAgent('s1', 'another');
    const { report, published, client } = await recoverRows([record]);
    expect(report.counts).toEqual({ retracked: 1 });
    expect(published[0]?.instance.instanceId).toBe(instance.instanceId);
    const { instances } = await client.call('listInstances', {});
    expect(instances.map(({ instanceId }) => instanceId)).toEqual([instance.instanceId]);
    expect(duplicate.instanceId).not.toBe(instance.instanceId);
  });

  it('stops all of several when none is certainly the own one [SURVIVAL-002.10]', async () => {
    const { record } = await liveSession('s1');
    await instanceWithoutAgent('s1', 'another');
    const { report, published, client, guards } = await recoverRows([{ ...record, executionId: 'neither' }]);
    expect(outcomesOf(report)).toEqual({ s1: { kind: 'ambiguous' } });
    expect(published).toEqual([]);
    expect((await client.call('listInstances', {})).instances).toEqual([]);
    expect(guards.admitLaunch('s1')).toEqual({ kind: 'admitted' });
  });

  it('holds the guards of all rows before any server is contacted, and refuses launches until the outcome [SURVIVAL-002.8]', async () => {
    const { record } = await liveSession('s1');
    const guards = new SessionGuards({ retryAfterMs: 100 });
    const passthrough = row('p1', { sessionMode: 'passthrough' });
    const admissions: unknown[] = [];
    const admit = (when: string): void => {
      for (const sessionId of ['s1', 'p1']) {
        const admission = guards.admitLaunch(sessionId);
        admissions.push([when, sessionId, admission.kind === 'admitted' ? 'admitted' : admission.error.code]);
      }
    };
    const runtime = them.runtime();
    const watched: ExecutorRuntime = {
      kind: runtime.kind,
      traits: runtime.traits,
      open: async (signal) => {
        admit('first contact');
        expect(them.tunnel.seen).toEqual([]);
        return await runtime.open(signal);
      },
      recoverInstances: async (rows, signal) => await runtime.recoverInstances(rows, signal),
      identify: async (pid, signal) => await runtime.identify(pid, signal),
      probe: async (probed, signal) => await runtime.probe(probed, signal),
      launch: async (request, signal) => await runtime.launch(request, signal),
      detach: async () => {
        await runtime.detach();
      },
      close: async () => {
        await runtime.close();
      },
    };
    await recoverRows([record, passthrough], {
      runtime,
      runtimes: [watched],
      guards,
      publish: () => {
        admit('publication');
      },
    });
    admit('end');
    expect(admissions).toEqual([
      ['first contact', 's1', 'session_recovering'],
      ['first contact', 'p1', 'admitted'],
      ['publication', 's1', 'session_recovering'],
      ['publication', 'p1', 'admitted'],
      ['end', 's1', 'admitted'],
      ['end', 'p1', 'admitted'],
    ]);
  });

  it('applies an outcome that was reached meanwhile before it publishes, and acknowledges it after [SURVIVAL-004.2] [SURVIVAL-004.6]', async () => {
    const { instance, record } = await liveSession('s1');
    const { instanceId } = instance;
    const turnId = await prompt(instanceId, script({ step: 'say', text: 'done' }));
    await until(async () => (await them.first.client.call('getTurn', { instanceId })).retained.length === 1, {
      reason: 'the turn to end',
      withinMs: 60_000,
    });
    const order: string[] = [];
    const runtime = them.runtime();
    const { applied, published, client } = await recoverRows([record], {
      runtime,
      ports: {
        profiles: { resolve: async () => await Promise.resolve(profileOf('agent')) },
        sessions: plainSessions,
        outcomes: {
          apply: async ({ controlTurnId, outcome }) => {
            const { retained } = await runtime.server.client.call('getTurn', { instanceId });
            order.push(`apply ${controlTurnId} ${outcome.kind}, retained ${String(retained.length)}`);
            return { sessionState: 'failed' };
          },
        },
      },
      publish: async ({ sessionState }) => {
        const { retained } = await runtime.server.client.call('getTurn', { instanceId });
        order.push(`publish ${sessionState}, retained ${String(retained.length)}`);
      },
    });
    expect(order).toEqual([`apply ${turnId} completed, retained 1`, 'publish failed, retained 1']);
    expect([applied, published]).toEqual([[], []]);
    expect((await client.call('getTurn', { instanceId })).retained).toEqual([]);
  });

  it('publishes a session whose turn is active as running', async () => {
    const { instance, record } = await liveSession('s1');
    await prompt(instance.instanceId, script({ step: 'silence' }));
    const { published, applied } = await recoverRows([record]);
    expect(published[0]).toMatchObject({
      sessionState: 'running',
      turn: { active: { promptGeneration: 1 } },
    });
    expect(published[0]?.execution.lastPromptGeneration).toBe(1);
    expect(applied).toEqual([]);
  });

  it('does not mind a lost acknowledgement: the outcome is applied and acknowledged by the next backend again', async () => {
    const { instance, record } = await liveSession('s1');
    const { instanceId } = instance;
    const turnId = await prompt(instanceId, script({ step: 'say', text: 'done' }));
    await until(async () => (await them.first.client.call('getTurn', { instanceId })).retained.length === 1, {
      reason: 'the turn to end',
      withinMs: 60_000,
    });
    them.tunnel.treat(/turn\/ack$/, 'break_before');
    const second = await recoverRows([record]);
    expect(second.report.counts).toEqual({ retracked: 1 });
    expect(them.place.events).toContainEqual(
      expect.objectContaining({ name: 'outcome.not_acknowledged', turnId }),
    );

    them.tunnel.reset();
    const third = await recoverRows([record]);
    expect(third.applied).toEqual(second.applied);
    expect((await third.client.call('getTurn', { instanceId })).retained).toEqual([]);
  });

  it('changes and doubles nothing when it runs again [SURVIVAL-002.9]', async () => {
    const { instance, record } = await liveSession('s1');
    const runtime = them.runtime();
    const once = await recoverRows([record], { runtime });
    const again = await recoverRows([record], { runtime });
    expect(outcomesOf(again.report)).toEqual(outcomesOf(once.report));
    const { instances } = await again.client.call('listInstances', {});
    expect(instances).toMatchObject([{ instanceId: instance.instanceId, agentPid: instance.agentPid }]);
  });

  it('refuses and stops an instance whose source says that a required value is absent, and names the value [SURVIVAL-002.4]', async () => {
    const idle = await instanceWithoutAgent('s1', 'execution-s1');
    const { report, client } = await recoverRows([row('s1', { instanceId: idle.instanceId })]);
    expect(outcomesOf(report)).toEqual({ s1: { kind: 'missing_input', name: 'providerSessionId' } });
    expect((await client.call('listInstances', {})).instances).toEqual([]);
  });

  it.each([
    ['reconstruction', /GET .*\/reconstruction$/],
    ['turn', /GET .*\/turn$/],
  ])(
    'stops the instance when its %s read gets no answer over the whole budget [SURVIVAL-002.13]',
    async (name, matching) => {
      const { instance, record } = await liveSession('s1');
      them.tunnel.treat(matching, 'break_before');
      const { report, published } = await recoverRows([record]);
      expect(outcomesOf(report)).toEqual({ s1: { kind: 'failed_read', name, detail: expect.any(String) } });
      expect(published).toEqual([]);
      expect(them.tunnel.seen.filter((what) => matching.test(what.replace(' *', '')))).toHaveLength(2);
      expect(processIsAlive(instance.agentPid ?? 0)).toBe(false);
    },
  );

  it('keeps one failing session from the recovery of another [SURVIVAL-002.11]', async () => {
    const failing = await liveSession('failing');
    const broken = await liveSession('broken');
    const well = await liveSession('well');
    them.tunnel.treat(new RegExp(`GET /instances/${failing.instance.instanceId}/turn$`), 'internal');
    const { report, guards } = await recoverRows([failing.record, broken.record, well.record], {
      publish: ({ record }) => {
        if (record === broken.record) throw new Error('the host cannot take it');
      },
    });
    expect(outcomesOf(report)).toMatchObject({
      failing: { kind: 'failed_read', name: 'turn' },
      broken: {
        kind: 'not_published',
        instanceIds: [broken.instance.instanceId],
        detail: 'the host cannot take it',
      },
      well: { kind: 'retracked' },
    });
    // Our own failure costs no agent its life, and no session a second agent.
    expect(processIsAlive(broken.instance.agentPid ?? 0)).toBe(true);
    expect(guards.admitLaunch('broken')).toMatchObject({ error: { code: 'agent_unstoppable' } });
  });

  it('brings every session to an outcome even when those who listen fail', async () => {
    const failing = await liveSession('failing');
    const well = await liveSession('well');
    await instanceWithoutAgent('failing', 'another');
    const { report, guards } = await recoverRows([failing.record, well.record], {
      onEvent: ({ name }) => {
        if (name === 'instance.stopped') throw new Error('the listener failed');
      },
    });
    expect(outcomesOf(report)).toMatchObject({
      failing: { kind: 'not_published', detail: 'the listener failed' },
      well: { kind: 'retracked' },
    });
    expect(processIsAlive(failing.instance.agentPid ?? 0)).toBe(true);
    expect(guards.admitLaunch('failing')).toMatchObject({ error: { code: 'agent_unstoppable' } });
  });

  it('publishes no session beside an instance that could not be stopped, and refuses launches for good [SURVIVAL-002.15] [SURVIVAL-002.16]', async () => {
    const { instance, record } = await liveSession('s1');
    const duplicate = await instanceWithoutAgent('s1', 'another');
    const orphan = await instanceWithoutAgent('orphan', 'orphan');
    them.tunnel.treat(`DELETE /instances/${duplicate.instanceId}`, 'internal');
    them.tunnel.treat(`DELETE /instances/${orphan.instanceId}`, 'break_before');
    const { report, published, guards, client } = await recoverRows([record]);
    expect(outcomesOf(report)).toEqual({ s1: { kind: 'stop_failed', instanceIds: [duplicate.instanceId] } });
    expect(published).toEqual([]);
    expect(processIsAlive(instance.agentPid ?? 0)).toBe(false);
    for (const [sessionId, instanceId] of [
      ['s1', duplicate.instanceId],
      ['orphan', orphan.instanceId],
    ] as const) {
      expect(guards.admitLaunch(sessionId)).toMatchObject({
        error: { code: 'agent_unstoppable', retryable: false, instanceIds: [instanceId] },
      });
    }
    expect((await client.call('listInstances', {})).instances).toHaveLength(2);
  });

  it('recovers nothing and stops nothing when the server cannot be enumerated [SURVIVAL-002.12]', async () => {
    const { instance, record } = await liveSession('s1');
    them.tunnel.treat('GET /instances', 'internal');
    const { report, published } = await recoverRows([record]);
    expect(outcomesOf(report)).toEqual({ s1: { kind: 'not_enumerated' } });
    expect(published).toEqual([]);
    expect(processIsAlive(instance.agentPid ?? 0)).toBe(true);
  });

  it('reports nothing recovered when adoption is refused, and why [SURVIVAL-005.6]', async () => {
    const { instance, record } = await liveSession('s1');
    them.tunnel.treat('POST /ownership/rotate', 'internal');
    const { report } = await them.recover([record]);
    expect(outcomesOf(await report)).toEqual({
      s1: { kind: 'adoption_refused', reason: 'rotation_failure' },
    });
    expect(processIsAlive(instance.agentPid ?? 0)).toBe(true);
  });

  it('stops nothing when the host wants to stop, and rejects with its reason', async () => {
    const { instance, record } = await liveSession('s1');
    const closing = new AbortController();
    await expect(
      recoverRows([record], {
        signal: closing.signal,
        ports: {
          profiles: {
            resolve: async () => {
              closing.abort(new Error('closing'));
              return await Promise.resolve(profileOf('agent'));
            },
          },
          sessions: plainSessions,
          outcomes: { apply: async () => await Promise.resolve({ sessionState: 'running' }) },
        },
      }),
    ).rejects.toThrow('closing');
    expect(processIsAlive(instance.agentPid ?? 0)).toBe(true);
  });

  it('takes a profile that cannot be read for a failed read, and one that is gone for a missing one', async () => {
    const unread = await liveSession('unread', { agentProfileId: 'unread' });
    const gone = await liveSession('gone', { agentProfileId: 'gone' });
    const { report } = await recoverRows([unread.record, gone.record], {
      ports: {
        profiles: {
          resolve: async (name) => {
            if (name === 'unread') throw new Error('no registry');
            return await Promise.resolve(null);
          },
        },
        sessions: plainSessions,
        outcomes: { apply: async () => await Promise.resolve({ sessionState: 'running' }) },
      },
    });
    expect(outcomesOf(report)).toEqual({
      unread: { kind: 'failed_read', name: 'profile', detail: 'no registry' },
      gone: { kind: 'missing_input', name: 'profile' },
    });
  });
});
