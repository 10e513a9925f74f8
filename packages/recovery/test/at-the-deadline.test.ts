import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ExecutorRuntime } from '@holdfast/executor-contract';
import { processIsAlive, until } from '@holdfast/testbeds';
import type { AgentProfile, SessionGuards } from '../src/index.ts';
import { SETTINGS, SHORT_READS, never } from './fixtures/backend.ts';
import { plainSessions, ports, profileOf } from './fixtures/ports.ts';
import { Recovering, liveInstances, outcomesOf } from './fixtures/recovering.ts';

const DEADLINE_MS = 1500;
/** Nothing that is under way is given up before the test lets it go on. */
const settings = { ...SETTINGS, recoveryReadTimeoutMs: 60_000, recoveryDeadlineMs: DEADLINE_MS };
/** A deadline before which a busy machine has done what can be done. */
const LATER_MS = 8000;
const later = { ...SETTINGS, recoveryDeadlineMs: LATER_MS };
const RECOVERING = { kind: 'refused', error: { code: 'session_recovering', retryable: true } };
const ADMITTED = { kind: 'admitted' };

let them: Recovering;

beforeEach(async () => {
  them = await Recovering.start('deadline');
});

afterEach(async () => {
  await them[Symbol.asyncDispose]();
});

async function untilAdmitted(guards: SessionGuards, sessionId: string): Promise<void> {
  await until(() => guards.admitLaunch(sessionId).kind === 'admitted', {
    reason: `the guard of ${sessionId} to be released`,
    withinMs: 60_000,
  });
}

describe('at the deadline', () => {
  it('what has no outcome is stopped and never published, what has one stays [SURVIVAL-003.7]', async () => {
    const slow = await them.survivor('slow', { row: { agentProfileId: 'slow' } });
    const quick = await them.survivor('quick');
    const late = Promise.withResolvers<AgentProfile>();
    const { report, published, guards } = await them.recover([slow.record, quick.record], {
      settings: later,
      ports: ports({
        profiles: {
          resolve: async (name) => (name === 'slow' ? await late.promise : profileOf('agent')),
        },
      }),
    });
    expect(outcomesOf(await report)).toEqual({ slow: { kind: 'deadline' }, quick: { kind: 'retracked' } });
    expect((await report).tookMs).toBeGreaterThan(LATER_MS - 100);
    await untilAdmitted(guards, 'slow');
    expect([slow, quick].map(({ agentPid }) => processIsAlive(agentPid))).toEqual([false, true]);
    late.resolve(profileOf('agent'));
    await late.promise;
    expect(published.map(({ record }) => record.sessionId)).toEqual(['quick']);
  });

  it('recovery is over though a stop is still under way, whose session stays guarded until it is done [SURVIVAL-003.7] [SURVIVAL-002.8]', async () => {
    const { record, instanceId, agentPid } = await them.survivor('s1', { row: { agentProfileId: 'slow' } });
    const stop = Promise.withResolvers<void>();
    them.tunnel.treat(`DELETE /instances/${instanceId}`, { holdAnswer: stop.promise });
    const { report, guards, events } = await them.recover([record], {
      settings,
      ports: ports({ profiles: { resolve: () => new Promise(() => undefined) } }),
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    await until(() => !processIsAlive(agentPid), { reason: 'the agent to be stopped', withinMs: 60_000 });
    // The server has done it, but has not said so yet.
    expect(guards.admitLaunch('s1')).toMatchObject(RECOVERING);
    expect(events.filter(({ name }) => name === 'instance.stopped')).toEqual([]);
    stop.resolve();
    await untilAdmitted(guards, 's1');
    expect(events.at(-1)).toMatchObject({ name: 'instance.stopped', instanceId, why: 'deadline' });
  });

  it('a stop that fails after it holds its session for good [SURVIVAL-003.7] [SURVIVAL-002.16]', async () => {
    const { record, instanceId, agentPid } = await them.survivor('s1', { row: { agentProfileId: 'slow' } });
    them.tunnel.treat(`DELETE /instances/${instanceId}`, 'hang');
    const { report, guards } = await them.recover([record], {
      settings: { ...SHORT_READS, recoveryDeadlineMs: DEADLINE_MS },
      ports: ports({ profiles: { resolve: () => new Promise(() => undefined) } }),
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    expect(guards.admitLaunch('s1')).toMatchObject(RECOVERING);
    await until(
      () => {
        const admission = guards.admitLaunch('s1');
        return admission.kind === 'refused' && admission.error.code === 'agent_unstoppable';
      },
      { reason: 'the stop to fail over its budget', withinMs: 60_000 },
    );
    expect(guards.admitLaunch('s1')).toMatchObject({
      error: { retryable: false, sessionId: 's1', instanceIds: [instanceId] },
    });
    // Not in time is not in vain: the retries were made.
    expect(them.tunnel.seen.filter((seen) => seen.startsWith('DELETE'))).toHaveLength(2);
    expect(processIsAlive(agentPid)).toBe(true);
  });

  it('the stop of a duplicate that is under way goes on, and its winner is stopped, not published [SURVIVAL-003.7] [SURVIVAL-002.15]', async () => {
    const winner = await them.survivor('s1');
    const duplicate = await them.survivor('s1', { executionId: 'another' });
    const stop = Promise.withResolvers<void>();
    them.tunnel.treat(`DELETE /instances/${duplicate.instanceId}`, { hold: stop.promise });
    const { report, guards, published, runtime } = await them.recover([winner.record], {
      settings,
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    expect(guards.admitLaunch('s1')).toMatchObject(RECOVERING);
    expect(processIsAlive(duplicate.agentPid)).toBe(true);
    stop.resolve();
    await untilAdmitted(guards, 's1');
    expect(published).toEqual([]);
    expect(await liveInstances(runtime)).toEqual([]);
    expect([winner, duplicate].map(({ agentPid }) => processIsAlive(agentPid))).toEqual([false, false]);
  });

  it('an adoption that is under way finishes, and what it finds is stopped [SURVIVAL-003.7]', async () => {
    const { record, agentPid } = await them.survivor('s1');
    const stranger = await them.survivor('stranger');
    const confirm = Promise.withResolvers<void>();
    const runtime = them.runtime();
    const slow: ExecutorRuntime = {
      kind: runtime.kind,
      traits: runtime.traits,
      open: async (signal) => {
        const reports = await runtime.open(never);
        await until(() => signal.aborted, { reason: 'the deadline', withinMs: 60_000 });
        await confirm.promise;
        return reports;
      },
      recoverInstances: async (rows, signal) => await runtime.recoverInstances(rows, signal),
      launch: async (request, signal) => await runtime.launch(request, signal),
      identify: async (pid, signal) => await runtime.identify(pid, signal),
      probe: async (row, signal) => await runtime.probe(row, signal),
      detach: async () => {
        await runtime.detach();
      },
      close: async () => {
        await runtime.close();
      },
    };
    setTimeout(() => {
      confirm.resolve();
    }, DEADLINE_MS + 300);
    const { report, guards, published } = await them.recover([record], {
      settings,
      runtime,
      runtimes: [slow],
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    await untilAdmitted(guards, 's1');
    expect(published).toEqual([]);
    expect(processIsAlive(agentPid)).toBe(false);
    await until(() => !processIsAlive(stranger.agentPid), {
      reason: 'the instance without a row to be stopped',
      withinMs: 60_000,
    });
  });

  it('an enumeration that is under way is waited for behind the guard, and what it tells is stopped [SURVIVAL-003.7]', async () => {
    const { record, agentPid } = await them.survivor('s1');
    const answer = Promise.withResolvers<void>();
    them.tunnel.treat('GET /instances', { holdAnswer: answer.promise }, 'once');
    const { report, guards, published } = await them.recover([record], {
      settings,
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    expect(guards.admitLaunch('s1')).toMatchObject(RECOVERING);
    expect(processIsAlive(agentPid)).toBe(true);
    answer.resolve();
    await untilAdmitted(guards, 's1');
    expect(published).toEqual([]);
    expect(processIsAlive(agentPid)).toBe(false);
  });

  it('a publication that is under way publishes nothing any more [SURVIVAL-003.7]', async () => {
    const { record, agentPid } = await them.survivor('s1');
    const taken: string[] = [];
    const database = Promise.withResolvers<void>();
    const { report, guards, events } = await them.recover([record], {
      settings,
      publish: async ({ execution }, signal) => {
        await database.promise;
        signal.throwIfAborted();
        taken.push(execution.sessionId);
      },
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    await untilAdmitted(guards, 's1');
    database.resolve();
    await database.promise;
    expect(taken).toEqual([]);
    expect(events.map(({ name }) => name)).not.toContain('session.retracked');
    expect(processIsAlive(agentPid)).toBe(false);
  });

  it('an outcome that cannot be stored in time keeps its session unpublished [SURVIVAL-003.7]', async () => {
    const { record, instanceId, agentPid } = await them.survivor('s1');
    const { turnId } = await them.first.client.call('prompt', {
      instanceId,
      promptGeneration: 1,
      content: [{ type: 'text', text: 'hello' }],
    });
    await until(async () => (await them.first.client.call('getTurn', { instanceId })).retained.length === 1, {
      reason: 'the turn to end',
      withinMs: 60_000,
    });
    const asked: string[] = [];
    const { report, guards, published } = await them.recover([record], {
      settings: later,
      ports: ports({
        sessions: plainSessions,
        outcomes: {
          apply: async ({ controlTurnId }) => {
            asked.push(controlTurnId);
            return await new Promise(() => undefined);
          },
        },
      }),
    });
    expect(outcomesOf(await report)).toEqual({ s1: { kind: 'deadline' } });
    await untilAdmitted(guards, 's1');
    expect([asked, published]).toEqual([[turnId], []]);
    expect(them.tunnel.seen.filter((seen) => seen.includes('/turn/ack'))).toEqual([]);
    expect(processIsAlive(agentPid)).toBe(false);
  });
});

describe('a backend that wants to stop after the deadline', () => {
  it('stops no further instance, and lets no launch in', async () => {
    const winner = await them.survivor('s1');
    const duplicate = await them.survivor('s1', { executionId: 'another' });
    const stop = Promise.withResolvers<void>();
    them.tunnel.treat(`DELETE /instances/${duplicate.instanceId}`, { holdAnswer: stop.promise });
    const closing = new AbortController();
    const { report, guards, events } = await them.recover([winner.record], {
      settings,
      signal: closing.signal,
    });
    await report;
    await until(() => them.tunnel.seen.some((seen) => seen.startsWith('DELETE')), {
      reason: 'the stop of the duplicate to be under way',
      withinMs: 60_000,
    });
    closing.abort(new Error('closing'));
    stop.resolve();
    await until(() => events.some(({ name }) => name === 'instance.stopped'), {
      reason: 'the stop under way to finish',
      withinMs: 60_000,
    });
    await new Promise(setImmediate);
    expect(guards.admitLaunch('s1')).toMatchObject(RECOVERING);
    expect(processIsAlive(winner.agentPid)).toBe(true);
    expect(ADMITTED).toEqual(guards.admitLaunch('another session'));
  });
});
