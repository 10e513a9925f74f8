import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProxyTreatment } from '@holdfast/testbeds';
import { processIsAlive, until } from '@holdfast/testbeds';
import { systemClock, type Clock } from '../src/index.ts';
import { SETTINGS, SHORT_READS } from './fixtures/backend.ts';
import { plainSessions, ports, profileOf } from './fixtures/ports.ts';
import { Recovering, liveInstances, outcomesOf, type Survivor } from './fixtures/recovering.ts';

let them: Recovering;

beforeEach(async () => {
  them = await Recovering.start('reads');
});

afterEach(async () => {
  await them[Symbol.asyncDispose]();
});

const ATTEMPTS = SHORT_READS.recoveryReadRetries + 1;
const short = { settings: SHORT_READS };
const SILENCE = `no answer within ${String(SETTINGS.recoveryReadTimeoutMs)} ms`;
/** The clock by which the host is asked: what never answers is found out soon, while the server has all its time. */
const impatient: Clock = {
  ...systemClock,
  after: (delayMs, action) =>
    systemClock.after(delayMs === SETTINGS.recoveryReadTimeoutMs ? 300 : delayMs, action),
};
const NEVER = new Promise<never>(() => undefined);

/** Everything that can happen to a read. */
const FAULTS: Readonly<Record<string, ProxyTreatment>> = {
  'its connection is reset before it is passed on': 'break_before',
  'its connection is reset when it is answered': 'break_after',
  'it is never answered': 'hang',
  'its answer stops halfway': 'half',
  'its answer comes after the read timeout': { holdAnswer: NEVER },
  'its answer is no JSON': { answer: { status: 200, body: '<html>' } },
  'its answer is JSON of another shape': { answer: { status: 200, body: '{"well":"no"}' } },
  'its answer has a status of its own': { answer: { status: 418, body: '{}' } },
  'the server fails': { answer: { status: 500, body: '{"error":{"code":"internal","message":"a bug"}}' } },
};

/** Rewrites an answer: these fields say something else. */
function but(change: Readonly<Record<string, unknown>>): (answer: unknown) => unknown {
  return (answer) => Object.assign({}, answer, change);
}

/** The requests of an instance's read that came through so far. */
function tries(what: string, instanceId: string): number {
  return them.tunnel.seen.filter((seen) => seen.startsWith(`GET /instances/${instanceId}/${what}`)).length;
}

describe('reads of one instance that fail', () => {
  it.each(['reconstruction', 'turn'])(
    'cost that instance its life, in every way a read of the %s can fail, and nobody else [SURVIVAL-002.11] [SURVIVAL-002.13] [SURVIVAL-004.5]',
    async (what) => {
      const failing = new Map<string, Survivor>();
      for (const [index, fault] of Object.keys(FAULTS).entries())
        failing.set(fault, await them.survivor(`failing-${String(index)}`));
      const well = [await them.survivor('well-1'), await them.survivor('well-2')];
      for (const [fault, treatment] of Object.entries(FAULTS))
        them.tunnel.treat(`GET /instances/${String(failing.get(fault)?.instanceId)}/${what}`, treatment);

      const all = [...failing.values(), ...well];
      const { runtime, guards, published, report } = await them.recover(
        all.map(({ record }) => record),
        short,
      );
      const outcomes = outcomesOf(await report);
      for (const [fault, { record, instanceId, agentPid }] of failing) {
        expect([fault, outcomes[record.sessionId]]).toEqual([
          fault,
          { kind: 'failed_read', name: what, detail: expect.any(String) },
        ]);
        expect([fault, tries(what, instanceId)]).toEqual([fault, ATTEMPTS]);
        expect([fault, processIsAlive(agentPid)]).toEqual([fault, false]);
        expect(guards.admitLaunch(record.sessionId)).toEqual({ kind: 'admitted' });
      }
      expect(published.map(({ record }) => record.sessionId).toSorted()).toEqual(['well-1', 'well-2']);
      expect(new Set((await liveInstances(runtime)).map(({ agentPid }) => agentPid))).toEqual(
        new Set(well.map(({ agentPid }) => agentPid)),
      );
    },
  );

  it('are answered at the last attempt in time [SURVIVAL-002.13]', async () => {
    const survivors = [await them.survivor('s1'), await them.survivor('s2')];
    for (const { instanceId } of survivors) {
      them.tunnel.treat(`GET /instances/${instanceId}/reconstruction`, 'hang', 'once');
      them.tunnel.treat(`GET /instances/${instanceId}/turn`, 'half', 'once');
    }
    const { report } = await them.recover(
      survivors.map(({ record }) => record),
      short,
    );
    expect((await report).counts).toEqual({ retracked: 2 });
    for (const { instanceId } of survivors) {
      expect([tries('reconstruction', instanceId), tries('turn', instanceId)]).toEqual([ATTEMPTS, ATTEMPTS]);
    }
  });

  it('find an instance that is gone meanwhile gone: it is no failure, and nothing is stopped [SURVIVAL-002.13]', async () => {
    const { instanceId, record } = await them.survivor('s1');
    them.tunnel.treat(`GET /instances/${instanceId}/turn`, {
      answer: {
        status: 404,
        body: '{"error":{"code":"instance_not_found","message":"gone"}}',
      },
    });
    const { report } = await them.recover([record]);
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'no_instance' } });
    expect(them.tunnel.seen.filter((seen) => seen.startsWith('DELETE'))).toEqual([]);
    expect(tries('turn', instanceId)).toBe(1);
  });
});

describe('the reads of many instances', () => {
  it('go out 64 at a time, so that none runs out of time for waiting on the others [SURVIVAL-002.13]', async () => {
    const survivors: Survivor[] = [];
    for (let index = 0; index < 40; index += 1) survivors.push(await them.survivor(`s${String(index)}`));
    const answers = Promise.withResolvers<void>();
    const read = /^GET .*\/(reconstruction|turn)/;
    them.tunnel.treat(read, { hold: answers.promise });
    const { report, runtime } = await them.recover(
      survivors.map(({ record }) => record),
      { settings: SETTINGS },
    );
    const reads = (): number => them.tunnel.seen.filter((seen) => read.test(seen)).length;
    await until(() => reads() === 64, { reason: 'the first reads', withinMs: 60_000 });
    // Others would have come before these.
    for (let time = 0; time < 3; time += 1) await liveInstances(runtime);
    expect(reads()).toBe(64);
    answers.resolve();
    expect((await report).counts).toEqual({ retracked: survivors.length });
  });
});

describe('an enumeration that fails', () => {
  it('stops nothing and recovers nothing, in every way it can fail [SURVIVAL-002.12]', async () => {
    const { record, agentPid } = await them.survivor('s1');
    for (const [fault, treatment] of Object.entries(FAULTS)) {
      them.tunnel.reset();
      them.tunnel.treat('GET /instances', treatment);
      const { report, published } = await them.recover([record], short);
      expect([fault, outcomesOf(await report)]).toEqual([fault, { s1: { kind: 'not_enumerated' } }]);
      expect([fault, published]).toEqual([fault, []]);
      const tried = them.tunnel.seen.filter((seen) => seen === 'GET /instances *');
      expect([fault, tried.length]).toEqual([fault, ATTEMPTS]);
      expect([fault, processIsAlive(agentPid)]).toEqual([fault, true]);
    }
  });
});

describe('missing, empty and unread', () => {
  it('are three different things in the row, and one that is unread takes no other with it [SURVIVAL-002.4] [SURVIVAL-002.11] [SURVIVAL-002.14]', async () => {
    const present = await them.survivor('present', { row: { metadata: { office: 'o' }, containerId: 'c1' } });
    const empty = await them.survivor('empty');
    const missing = await them.survivor('missing', { row: { workspacePath: '' } });
    const unread = await them.survivor('unread', { row: { metadata: null } });
    const survivors = { present, empty, missing, unread };
    const { report, published } = await them.recover(Object.values(survivors).map(({ record }) => record));
    expect(outcomesOf(await report)).toEqual({
      present: { kind: 'retracked' },
      empty: { kind: 'retracked' },
      missing: { kind: 'missing_input', name: 'workspacePath' },
      unread: { kind: 'failed_read', name: 'row', detail: 'its metadata is not readable' },
    });
    expect(
      Object.fromEntries(
        published.map(({ execution: { sessionId, metadata, containerId } }) => [
          sessionId,
          [metadata, containerId],
        ]),
      ),
    ).toEqual({ present: [{ office: 'o' }, 'c1'], empty: [{}, null] });
    for (const [name, { agentPid }] of Object.entries(survivors))
      expect([name, processIsAlive(agentPid)]).toEqual([name, name === 'present' || name === 'empty']);
  });

  it('are three different things at the store [SURVIVAL-002.4] [SURVIVAL-002.13] [SURVIVAL-002.14]', async () => {
    const names = ['present', 'empty', 'missing', 'failing', 'throwing', 'hanging'] as const;
    const survivors = new Map<string, Survivor>();
    for (const name of names) survivors.set(name, await them.survivor(name));
    const { report, published } = await them.recover(
      [...survivors.values()].map(({ record }) => record),
      {
        clock: impatient,
        ports: ports({
          sessions: {
            read: (sessionId) => {
              if (sessionId === 'throwing') throw new Error('not even a promise');
              if (sessionId === 'failing') return Promise.reject(new Error('the disk is gone'));
              if (sessionId === 'hanging') return NEVER;
              if (sessionId === 'missing') return Promise.resolve(null);
              return Promise.resolve({ taskEnvironmentId: sessionId === 'empty' ? null : 'environment-7' });
            },
          },
        }),
      },
    );
    expect(outcomesOf(await report)).toEqual({
      present: { kind: 'retracked' },
      empty: { kind: 'retracked' },
      missing: { kind: 'missing_input', name: 'session' },
      failing: { kind: 'failed_read', name: 'session', detail: 'the disk is gone' },
      throwing: { kind: 'failed_read', name: 'session', detail: 'not even a promise' },
      hanging: { kind: 'failed_read', name: 'session', detail: SILENCE },
    });
    expect(
      Object.fromEntries(
        published.map(({ execution }) => [execution.sessionId, execution.taskEnvironmentId]),
      ),
    ).toEqual({ empty: null, present: 'environment-7' });
    for (const [name, { agentPid }] of survivors)
      expect([name, processIsAlive(agentPid)]).toEqual([name, name === 'present' || name === 'empty']);
  });

  it('are three different things at the profiles [SURVIVAL-002.4] [SURVIVAL-002.13] [SURVIVAL-002.14] [CONTRACT-07]', async () => {
    const names = ['present', 'empty', 'missing', 'failing', 'throwing', 'hanging'] as const;
    const survivors = new Map<string, Survivor>();
    for (const name of names)
      survivors.set(name, await them.survivor(name, { row: { agentProfileId: name } }));
    const { report, published } = await them.recover(
      [...survivors.values()].map(({ record }) => record),
      {
        clock: impatient,
        ports: ports({
          sessions: plainSessions,
          profiles: {
            resolve: (name) => {
              if (name === 'throwing') throw new Error('not even a promise');
              if (name === 'failing') return Promise.reject(new Error('no registry'));
              if (name === 'hanging') return NEVER;
              if (name === 'missing') return Promise.resolve(null);
              return Promise.resolve(name === 'empty' ? profileOf() : profileOf('as', 'it', 'is', 'now'));
            },
          },
        }),
      },
    );
    expect(outcomesOf(await report)).toEqual({
      present: { kind: 'retracked' },
      empty: { kind: 'missing_input', name: 'command' },
      missing: { kind: 'missing_input', name: 'profile' },
      failing: { kind: 'failed_read', name: 'profile', detail: 'no registry' },
      throwing: { kind: 'failed_read', name: 'profile', detail: 'not even a promise' },
      hanging: { kind: 'failed_read', name: 'profile', detail: SILENCE },
    });
    expect(published.map(({ execution }) => execution.command)).toEqual([['as', 'it', 'is', 'now']]);
    for (const [name, { agentPid }] of survivors)
      expect([name, processIsAlive(agentPid)]).toEqual([name, name === 'present']);
  });

  it('are told apart at the instance: no environment and no run are legitimate [SURVIVAL-002.14] [CONTRACT-10]', async () => {
    const bare = await them.survivor('bare');
    const full = await them.survivor('full', { environment: { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' } });
    const rootless = await them.survivor('rootless');
    const sessionless = await them.survivor('sessionless');
    them.tunnel.treat(`GET /instances/${rootless.instanceId}/reconstruction`, {
      rewrite: but({ workspaceSourceRoots: [] }),
    });
    them.tunnel.treat(`GET /instances/${sessionless.instanceId}/reconstruction`, {
      rewrite: but({ providerSessionId: null }),
    });
    const { report, published, events } = await them.recover(
      [bare, full, rootless, sessionless].map(({ record }) => record),
    );
    expect(outcomesOf(await report)).toEqual({
      bare: { kind: 'retracked' },
      full: { kind: 'retracked' },
      rootless: { kind: 'missing_input', name: 'workspaceSourceRoots' },
      sessionless: { kind: 'missing_input', name: 'providerSessionId' },
    });
    const executionOf = (sessionId: string): unknown => {
      const execution = published.find(({ record }) => record.sessionId === sessionId)?.execution;
      return [execution?.runId, execution?.environment];
    };
    expect(executionOf('bare')).toEqual([null, {}]);
    expect(executionOf('full')).toEqual(['run-7', { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' }]);
    expect(JSON.stringify([await report, published, events])).not.toContain('hush');
    expect([rootless, sessionless].map(({ agentPid }) => processIsAlive(agentPid))).toEqual([false, false]);
  });
});

describe('an instance that lies', () => {
  it('about what is re-derived is not listened to, and names no session but its own [SURVIVAL-002.14] [CONTRACT-07]', async () => {
    const { instanceId, record } = await them.survivor('s1');
    them.tunnel.treat(`GET /instances/${instanceId}/reconstruction`, {
      rewrite: but({
        agentId: 'evil',
        command: ['evil'],
        continuationCommand: ['evil'],
        history: 'none',
        sessionId: 'evil',
        taskEnvironmentId: 'evil',
      }),
    });
    const { report, published } = await them.recover([record]);
    expect((await report).counts).toEqual({ retracked: 1 });
    expect(published[0]?.execution).toMatchObject({
      ...profileOf('agent'),
      sessionId: 's1',
      taskEnvironmentId: null,
    });
    expect(JSON.stringify(published[0]?.execution)).not.toContain('evil');
  });
});

describe('source roots', () => {
  it('are read back from the instance and never pushed, whatever the row says [CONTRACT-08] [SURVIVAL-002.5]', async () => {
    const { home } = them.place;
    const roots = [`${home}/logs`];
    const { instanceId, record } = await them.survivor('s1', { roots, row: { workspacePath: '/' } });
    const { runtime, report, published } = await them.recover([record]);
    expect((await report).counts).toEqual({ retracked: 1 });
    expect(published[0]?.execution).toMatchObject({ workspacePath: '/', workspaceSourceRoots: roots });
    expect(them.tunnel.seen.filter((seen) => seen.startsWith('PUT'))).toEqual([]);
    const { client } = runtime.server;
    expect(await client.call('getReconstruction', { instanceId })).toMatchObject({
      workspaceSourceRoots: roots,
    });
  });
});
