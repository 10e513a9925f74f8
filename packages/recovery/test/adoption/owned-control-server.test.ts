import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Instance } from '@holdfast/control-protocol';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { processIsAlive, until, waitUntilReaped } from '@holdfast/testbeds';
import { OwnershipLostError, ServerEndedError } from '../../src/index.ts';
import {
  SCOPE,
  SHORT_READS,
  dialRecorded,
  installation,
  never,
  type Installation,
} from '../fixtures/backend.ts';
import { runControlServer, type RunningServer } from '../fixtures/control-server.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo } from '../fixtures/proxy.ts';
import { forServer, serverHere } from '../fixtures/server-here.ts';

let place: Installation;
let server: RunningServer;

beforeEach(async () => {
  place = await installation('owned');
  server = await runControlServer(place.home);
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** Another backend takes the server over. */
async function adopted(): Promise<OwnedControlServer> {
  const adoption = await place.backend().adopt(SCOPE, dialRecorded, never);
  if (adoption.kind !== 'adopted') throw new Error(`not adopted: ${adoption.kind}`);
  return adoption.server;
}

async function createInstance({ client }: OwnedControlServer): Promise<Instance> {
  return await client.call('createInstance', {
    executionId: 'e1',
    sessionId: 's1',
    taskId: 't1',
    workspacePath: place.home,
    workspaceSourceRoots: [place.home],
    environment: {},
  });
}

describe('an owned control server', () => {
  it('has ended when nobody is there any more: told once, renewed no more, not said to be let go', async () => {
    const clock = manualClock();
    const owned = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    process.kill(server.program.pid, 'SIGKILL');
    await waitUntilReaped(server.program.pid, { withinMs: 60_000, reason: 'it was killed' });
    expect(owned.ended.aborted).toBe(false);
    await Promise.all([1, 2, 3].map(async () => await owned.enumerate(never)));
    expect(owned.ended.reason).toBeInstanceOf(ServerEndedError);
    expect(owned.ended.reason).toMatchObject({ code: 'server_ended', serverId: server.serverId });
    expect(clock.nextInMs()).toBeUndefined();
    expect(place.events.filter(({ name }) => name === 'server.ended')).toMatchObject([
      { scope: SCOPE, answer: 'no_answer' },
    ]);
    expect(owned.lost.aborted).toBe(false);
    await owned.release();
    expect(place.events.filter(({ name }) => name === 'ownership.detached')).toEqual([]);
  });

  it('has ended as soon as it says that it is stopping', async () => {
    await using proxy = await proxyTo(server.dialled.endpoint);
    const fresh = { ...proxy.dialled, nonce: server.fresh.nonce };
    const owned = await place.backend().bootstrap(SCOPE, fresh, never);
    proxy.treat('POST /ownership/claim', 'shutting_down');
    await expect(owned.client.call('claim', {})).rejects.toMatchObject({ code: 'shutting_down' });
    expect(owned.ended.reason).toMatchObject({ code: 'server_ended', answer: 'shutting_down' });
  });

  it('has not ended where a tunnel to it breaks', async () => {
    const proxy = await proxyTo(server.dialled.endpoint);
    const fresh = { ...proxy.dialled, nonce: server.fresh.nonce };
    const owned = await place.backend().bootstrap(SCOPE, fresh, never);
    await proxy[Symbol.asyncDispose]();
    expect(await owned.enumerate(never)).toMatchObject({ kind: 'not_enumerated' });
    expect(owned.ended.aborted).toBe(false);
    await owned.release();
  });

  it('has not ended where it is only silent', async () => {
    const owned = await place.backend({ settings: SHORT_READS }).bootstrap(SCOPE, server.fresh, never);
    process.kill(server.program.pid, 'SIGSTOP');
    try {
      expect(await owned.enumerate(never)).toMatchObject({ kind: 'not_enumerated' });
      expect(owned.ended.aborted).toBe(false);
    } finally {
      process.kill(server.program.pid, 'SIGCONT');
    }
    await owned.shutdown();
    expect(owned.ended.aborted).toBe(false);
    expect(place.events.filter(({ name }) => name === 'server.ended')).toEqual([]);
  });

  it('is lost when another backend has adopted it: told once, not retried [OWNERSHIP-002.3]', async () => {
    const clock = manualClock();
    const old = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    const next = await adopted();
    expect(old.lost.aborted).toBe(false);

    clock.advance(old.unownedPeriodMs / 3);
    await until(() => old.lost.aborted, { reason: 'the loss', withinMs: 60_000 });
    expect(old.lost.reason).toBeInstanceOf(OwnershipLostError);
    expect(old.lost.reason).toMatchObject({ code: 'ownership_lost', serverId: server.serverId });
    expect(clock.nextInMs()).toBeUndefined();
    await expect(old.client.call('listInstances', {})).rejects.toMatchObject({ status: 401 });
    expect(place.events.filter(({ name }) => name === 'ownership.lost')).toHaveLength(1);
    await next.release();
  });

  it('is lost as soon as any answer says so: told once, renewed no more [OWNERSHIP-002.3]', async () => {
    const clock = manualClock();
    const old = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    const next = await adopted();
    const answers = await Promise.all([1, 2, 3].map(async () => await old.enumerate(never)));
    expect(answers.map(({ kind }) => kind)).toEqual(Array.from({ length: 3 }, () => 'not_enumerated'));
    expect(old.lost.reason).toBeInstanceOf(OwnershipLostError);
    expect(clock.nextInMs()).toBeUndefined();
    expect(place.events.filter(({ name }) => name === 'ownership.lost')).toHaveLength(1);
    await next.release();
  });

  it('is lost as soon as a stream is closed by an adoption [OWNERSHIP-002.3]', async () => {
    const clock = manualClock();
    const old = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    const { instanceId } = await createInstance(old);
    const stream = await old.client.openEvents(instanceId, { after: 0 });
    const next = await adopted();
    await until(() => old.lost.aborted, { reason: 'the loss', withinMs: 60_000 });
    expect((await stream.ended).code).toBe(4002);
    expect(clock.nextInMs()).toBeUndefined();
    expect(place.events.filter(({ name }) => name === 'ownership.lost')).toEqual([
      { name: 'ownership.lost', scope: SCOPE, serverId: server.serverId, code: 'credential_superseded' },
    ]);
    await expect(old.client.openEvents(instanceId, { after: 0 })).rejects.toMatchObject({ status: 401 });
    await next.release();
  });

  it('is not lost to another backend after it was let go of', async () => {
    const old = await place.backend().bootstrap(SCOPE, server.fresh, never);
    await old.release();
    const next = await adopted();
    expect((await old.enumerate(never)).kind).toBe('not_enumerated');
    expect(old.lost.aborted).toBe(false);
    expect(place.events.map(({ name }) => name)).not.toContain('ownership.lost');
    await next.release();
  });

  it('has as much time as ever after renewals that failed [OWNERSHIP-003.3]', async () => {
    const serverClock = manualClock();
    await using own = await serverHere(place.home, { clock: forServer(serverClock) });
    await using tunnel = await proxyTo(own.fresh.endpoint);
    const clock = manualClock();
    const fresh = { ...own.fresh, endpoint: tunnel.dialled.endpoint };
    const owned = await place.backend({ clock }).bootstrap(SCOPE, fresh, never);

    // The last one fails a moment before nobody owns the server any more.
    const period = owned.unownedPeriodMs;
    for (const [failures, treatment] of (['internal', 'break_before', 'internal'] as const).entries()) {
      tunnel.treat('POST /ownership/claim', treatment);
      serverClock.advance(failures === 2 ? period - 1 - 2 * (period / 3) : period / 3);
      clock.advance(clock.nextInMs() ?? 0);
      await until(() => clock.nextInMs(), { reason: 'the renewal to fail', withinMs: 60_000 });
      expect(clock.nextInMs()).toBeGreaterThan(period / 5);
    }
    tunnel.reset();
    expect(await owned.client.call('claim', {})).toEqual({ expiresInMs: period });
    expect(place.events.filter(({ name }) => name === 'ownership.renewal_failed')).toHaveLength(3);
    expect(owned.lost.aborted).toBe(false);
    await owned.release();
  });

  it('takes a connection that breaks for no sign that the server has stopped', async () => {
    await using tunnel = await proxyTo(server.dialled.endpoint);
    const fresh = { ...server.fresh, endpoint: tunnel.dialled.endpoint };
    const owned = await place.backend().bootstrap(SCOPE, fresh, never);
    tunnel.treat(/./, 'break_before');
    await expect(owned.shutdown()).rejects.toMatchObject({ code: 'server_not_stopped' });
    expect(processIsAlive(server.program.pid)).toBe(true);
  });

  it('renews by itself against the real server [OWNERSHIP-003.2]', async () => {
    const clock = manualClock();
    const owned = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    for (let renewal = 1; renewal <= 3; renewal += 1) {
      const pause = clock.nextInMs();
      expect(pause).toBeLessThan(owned.unownedPeriodMs / 3);
      clock.advance(pause ?? 0);
      await until(() => clock.nextInMs(), { reason: 'the claim to be answered', withinMs: 60_000 });
    }
    expect(place.events.map(({ name }) => name)).toEqual(['ownership.started']);
    await owned.release();
    expect(clock.nextInMs()).toBeUndefined();
  });

  it('counts an instance that is not there as stopped', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const { instanceId } = await createInstance(owned);
    expect(await owned.stopInstance(instanceId)).toEqual({ kind: 'stopped' });
    expect(await owned.stopInstance(instanceId)).toEqual({ kind: 'stopped' });
    await owned.release();
  });

  it('shuts down with an agent that will not end by itself: resolves when the server answers no more [OWNERSHIP-002.9]', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const { instanceId } = await createInstance(owned);
    const { agentPid } = await owned.client.call('startAgent', {
      instanceId,
      command: scriptedAgentCommand(),
      session: { kind: 'new' },
      mcpServers: [],
      approval: 'allow',
    });
    await owned.client.call('prompt', {
      instanceId,
      promptGeneration: 1,
      content: [{ type: 'text', text: script({ step: 'ignoreSigterm' }, { step: 'silence' }) }],
    });
    await owned.shutdown();
    await expect(owned.client.call('getIdentity', {})).rejects.toMatchObject({ code: 'no_answer' });
    expect(processIsAlive(agentPid)).toBe(false);
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
    await owned.shutdown();
  });

  it('says that it could not be stopped', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const next = await adopted();
    await expect(owned.shutdown()).rejects.toMatchObject({ code: 'server_not_stopped', scope: SCOPE });
    await next.release();
  });
});
