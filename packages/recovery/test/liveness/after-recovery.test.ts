import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { resolveSettings } from '@holdfast/control-protocol';
import type { Dial, ExecutionRecord, Ownership } from '@holdfast/executor-contract';
import { processIsAlive, processStartTime, until } from '@holdfast/testbeds';
import {
  planReconciliation,
  type RecoverOptions,
  type RecoveryReport,
  type SessionGuards,
} from '../../src/index.ts';
import { SCOPE, SETTINGS, dialRecorded, never } from '../fixtures/backend.ts';
import { judged } from '../fixtures/judged.ts';
import { Recovering } from '../fixtures/recovering.ts';
import { row } from '../fixtures/rows.ts';
import { launchOn, survivorRuntime, type SurvivorRuntime } from '../fixtures/survivor-runtime.ts';

let them: Recovering;

beforeEach(async () => {
  them = await Recovering.start('liveness');
});

afterEach(async () => {
  await them[Symbol.asyncDispose]();
});

/** A session of the first backend with a running agent, as its row names it. */
async function liveRow(sessionId: string, given: Partial<ExecutionRecord> = {}): Promise<ExecutionRecord> {
  const { record, agentPid } = await them.survivor(sessionId, { row: given });
  const agentProcess = { pid: agentPid, startTime: processStartTime(agentPid) ?? 'it has ended' };
  return { ...record, serverId: them.first.serverId, agentProcess };
}

interface Judged {
  readonly report: RecoveryReport;
  readonly published: readonly string[];
  readonly guards: SessionGuards;
  readonly runtime: SurvivorRuntime;
  readonly ownership: Ownership;
}

/** A backend starts, recovers the rows and judges them after that. */
async function backend(
  rows: readonly ExecutionRecord[],
  ownership = them.place.backend(),
  dial: Dial = async () => await Promise.resolve(them.tunnel.dialled),
  settings: RecoverOptions['settings'] = SETTINGS,
): Promise<Judged> {
  const runtime = survivorRuntime(ownership, dial);
  const { published, guards, report } = await them.recover(rows, {
    runtime,
    settings,
    onEvent: (event) => them.place.events.push(event),
  });
  const recovery = await report;
  const driven = recovery.scopes.some((scope) => scope.server === 'adopted');
  const withLiveness = await judged(recovery, {
    runtime,
    ownership,
    servers: driven ? [runtime.server] : [],
  });
  return {
    report: withLiveness,
    published: published.map(({ execution }) => execution.sessionId),
    guards,
    runtime,
    ownership,
  };
}

function livenessOf({ rows }: RecoveryReport): unknown {
  return Object.fromEntries(
    rows.map(({ row: { sessionId }, outcome, liveness }) => [
      sessionId,
      `${outcome.kind}, ${liveness?.liveness ?? 'not told'} (${liveness?.situation ?? ''})`,
    ]),
  );
}

function repairsOf({ rows }: RecoveryReport): readonly string[] {
  return planReconciliation(rows).sessions.flatMap(({ repair }) => repair);
}

describe('rows after a recovery', () => {
  it('are judged by one enumeration of the adopted server, taken after their outcomes [SURVIVAL-003.1] [SURVIVAL-003.6]', async () => {
    const live = await liveRow('live');
    const doomed = await liveRow('doomed', { metadata: {}, agentProfileId: '' });
    const elsewhere = row('elsewhere', { serverId: 'another-server', agentProcess: live.agentProcess });
    const { report } = await backend([
      live,
      doomed,
      row('gone', { serverId: them.first.serverId }),
      elsewhere,
    ]);
    // What its own recovery stopped is gone by the time rows are judged.
    expect(livenessOf(report)).toEqual({
      live: 'retracked, alive (adopted)',
      doomed: 'missing_input, gone (adopted)',
      gone: 'no_instance, gone (adopted)',
      elsewhere: 'no_instance, alive (no_server)',
    });
    expect(repairsOf(report)).toEqual(['execution-doomed', 'execution-gone']);
    expect(them.tunnel.seen.filter((what) => what === 'GET /instances *')).toHaveLength(2);
  });

  it('say nothing and are kept while the adopted server cannot be enumerated, and are told afresh later [SURVIVAL-002.12] [SURVIVAL-003.6]', async () => {
    const live = await liveRow('live');
    them.tunnel.treat('GET /instances', 'internal');
    const { report, published, runtime, ownership } = await backend([live]);
    expect(livenessOf(report)).toEqual({ live: 'not_enumerated, unknown (adopted)' });
    expect({ repairs: repairsOf(report), published }).toEqual({ repairs: [], published: [] });
    expect(processIsAlive(live.agentProcess?.pid ?? 0)).toBe(true);

    them.tunnel.reset();
    const parts = { runtime, ownership, servers: [runtime.server] };
    expect(livenessOf(await judged(report, parts))).toEqual({ live: 'not_enumerated, alive (adopted)' });
    await runtime.server.stopInstance(live.instanceId);
    expect(livenessOf(await judged(report, parts))).toEqual({ live: 'not_enumerated, gone (adopted)' });
  });

  it('say nothing and are kept while somebody listens where a server refused us, which is sent nothing more [OWNERSHIP-001.4]', async () => {
    const live = await liveRow('live');
    const ownership = them.place.backend({
      secrets: { ...them.place.secrets, read: async () => await Promise.reject(new Error('locked away')) },
    });
    expect(await ownership.refusedServer(SCOPE, never)).toBe('none');
    const { report } = await backend([live], ownership);
    expect(livenessOf(report)).toEqual({ live: 'adoption_refused, unknown (not_adopted)' });
    expect(repairsOf(report)).toEqual([]);
    expect(them.tunnel.seen).toEqual(['GET /identity']);
  });

  it('are judged by their processes once nobody listens there any more', async () => {
    const live = await liveRow('live');
    const ownership = them.place.backend({
      secrets: { ...them.place.secrets, read: async () => await Promise.reject(new Error('locked away')) },
    });
    const { report, runtime } = await backend([live], ownership, dialRecorded);
    expect(livenessOf(report)).toEqual({ live: 'adoption_refused, unknown (not_adopted)' });
    await them.endServer();
    expect(await ownership.refusedServer(SCOPE, never)).toBe('gone');
    const gone = { live: 'adoption_refused, gone (no_server)' };
    const isGone = async (): Promise<boolean> => {
      const again = livenessOf(await judged(report, { runtime, ownership, servers: [] }));
      return JSON.stringify(again) === JSON.stringify(gone);
    };
    expect(await until(isGone, { reason: 'the agent to end after its server', withinMs: 60_000 })).toBe(true);
  });

  it('are forgotten as refused once their server is adopted after all', async () => {
    const live = await liveRow('live');
    let locked = true;
    const ownership = them.place.backend({
      secrets: {
        ...them.place.secrets,
        read: async (ref) => {
          if (locked) throw new Error('locked away');
          return await them.place.secrets.read(ref);
        },
      },
    });
    await backend([live], ownership);
    expect(await ownership.refusedServer(SCOPE, never)).toBe('answers');
    locked = false;
    expect(livenessOf((await backend([live], ownership)).report)).toEqual({
      live: 'retracked, alive (adopted)',
    });
    expect(await ownership.refusedServer(SCOPE, never)).toBe('none');
  });

  it('of an instance that could not be stopped keep their guard and stay, whatever the order [SURVIVAL-002.16]', async () => {
    const live = await liveRow('live');
    const { instance: duplicate } = await launchOn(them.first, {
      executionId: 'another',
      sessionId: 'live',
      taskId: 'task-live',
      workspacePath: them.place.home,
      workspaceSourceRoots: [them.place.home],
      environment: {},
    });
    them.tunnel.treat(`DELETE /instances/${duplicate.instanceId}`, 'internal');
    const { report, guards } = await backend([live]);
    expect(livenessOf(report)).toEqual({ live: 'stop_failed, alive (adopted)' });
    expect(repairsOf(report)).toEqual([]);
    expect(guards.admitLaunch('live')).toMatchObject({ error: { code: 'agent_unstoppable' } });
  });

  it('of passthrough sessions are repaired, their instances stopped; a mode that cannot be read counts as managed', async () => {
    const rows = [
      await liveRow('managed'),
      await liveRow('passthrough', { sessionMode: 'passthrough' }),
      await liveRow('unreadable', { sessionMode: null }),
    ];
    const { report, published } = await backend(rows);
    expect(livenessOf(report)).toEqual({
      managed: 'retracked, alive (adopted)',
      passthrough: 'no_instance, gone (adopted)',
      unreadable: 'retracked, alive (adopted)',
    });
    expect(repairsOf(report)).toEqual(['execution-passthrough']);
    expect(published.toSorted()).toEqual(['managed', 'unreadable']);
  });
});

describe('recovery by one backend after another', () => {
  it('comes to the same each time, with the same agents [SURVIVAL-002.9]', async () => {
    const rows = [await liveRow('s1'), await liveRow('s2'), row('gone', { serverId: them.first.serverId })];
    const reports: unknown[] = [];
    for (let backends = 0; backends < 3; backends += 1) {
      const { report, published } = await backend(rows);
      reports.push([livenessOf(report), repairsOf(report), published.toSorted()]);
    }
    expect(reports[1]).toEqual(reports[0]);
    expect(reports[2]).toEqual(reports[0]);
    expect(
      rows.flatMap(({ agentProcess }) => agentProcess ?? []).every(({ pid }) => processIsAlive(pid)),
    ).toBe(true);
    expect(them.place.events.filter(({ name }) => name === 'instance.stopped')).toEqual([]);
  });
});

describe('an installation with two hundred sessions', () => {
  const SESSIONS = 200;

  it('re-tracks them all before the deadline, each with its own agent, and judges all rows by one enumeration', async () => {
    const rows: ExecutionRecord[] = [];
    for (let index = 0; index < SESSIONS; index += 1) {
      rows.push(await liveRow(`s${String(index)}`));
    }
    const seen = them.tunnel.seen.length;
    // The read budget and the deadline of the product, not the short ones of these tests.
    const settings = resolveSettings({});
    const { report, published } = await backend(rows, them.place.backend({ settings }), undefined, settings);
    expect(report.counts).toEqual({ retracked: SESSIONS });
    expect(new Set(published).size).toBe(SESSIONS);
    expect(report.rows.every(({ liveness }) => liveness?.liveness === 'alive')).toBe(true);
    expect(planReconciliation(report.rows)).toEqual({ sessions: [] });
    expect(String(report).split('\n')).toHaveLength(SESSIONS + 2);
    expect(them.tunnel.seen.slice(seen).filter((what) => what === 'GET /instances *')).toHaveLength(2);
    const pids = new Set(rows.map(({ agentProcess }) => agentProcess?.pid));
    expect(pids.size).toBe(SESSIONS);
  });
});
