import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { processIsAlive, until } from '@holdfast/testbeds';
import { OwnershipLostError } from '../../src/index.ts';
import { SCOPE, dialRecorded, installation, never, type Installation } from '../fixtures/backend.ts';
import { runControlServer, type RunningServer } from '../fixtures/control-server.ts';
import { manualClock } from '../fixtures/manual-clock.ts';

// Real processes on a machine that may be busy.
jest.setTimeout(60_000);

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

describe('an owned control server', () => {
  it('is lost when another backend has adopted it: told once, not retried [OWNERSHIP-002.3]', async () => {
    const clock = manualClock();
    const old = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    const adoption = await place.backend().adopt(SCOPE, dialRecorded, never);
    if (adoption.kind !== 'adopted') throw new Error('not adopted');
    expect(old.lost.aborted).toBe(false);

    clock.advance(old.unownedPeriodMs / 3);
    await until(() => old.lost.aborted, { reason: 'the loss', withinMs: 5000 });
    expect(old.lost.reason).toBeInstanceOf(OwnershipLostError);
    expect(old.lost.reason).toMatchObject({ code: 'ownership_lost', serverId: server.serverId });
    expect(clock.nextInMs()).toBeUndefined();
    await expect(old.client.call('listInstances', {})).rejects.toMatchObject({ status: 401 });
    expect(place.events.filter(({ name }) => name === 'ownership.lost')).toHaveLength(1);
    await adoption.server.release();
  });

  it('renews by itself against the real server [OWNERSHIP-003.2]', async () => {
    const clock = manualClock();
    const owned = await place.backend({ clock }).bootstrap(SCOPE, server.fresh, never);
    for (let renewal = 1; renewal <= 3; renewal += 1) {
      const pause = clock.nextInMs();
      expect(pause).toBeLessThan(owned.unownedPeriodMs / 3);
      clock.advance(pause ?? 0);
      await until(() => clock.nextInMs(), { reason: 'the claim to be answered', withinMs: 5000 });
    }
    expect(place.events.map(({ name }) => name)).toEqual(['ownership.started']);
    await owned.release();
    expect(clock.nextInMs()).toBeUndefined();
  });

  it('counts an instance that is not there as stopped', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const { instanceId } = await owned.client.call('createInstance', {
      executionId: 'e1',
      sessionId: 's1',
      taskId: 't1',
      workspacePath: place.home,
      workspaceSourceRoots: [place.home],
      environment: {},
    });
    expect(await owned.stopInstance(instanceId)).toEqual({ kind: 'stopped' });
    expect(await owned.stopInstance(instanceId)).toEqual({ kind: 'stopped' });
    await owned.release();
  });

  it('shuts down with an agent that will not end by itself: resolves when the server answers no more [OWNERSHIP-002.9]', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    const { instanceId } = await owned.client.call('createInstance', {
      executionId: 'e1',
      sessionId: 's1',
      taskId: 't1',
      workspacePath: place.home,
      workspaceSourceRoots: [place.home],
      environment: {},
    });
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
    const adoption = await place.backend().adopt(SCOPE, dialRecorded, never);
    if (adoption.kind !== 'adopted') throw new Error('not adopted');
    await expect(owned.shutdown()).rejects.toMatchObject({ code: 'server_not_stopped', scope: SCOPE });
    await adoption.server.release();
  });
});

describe('a survivor, with the capability switched off', () => {
  it('is stopped when it is own', async () => {
    await (await place.backend().bootstrap(SCOPE, server.fresh, never)).release();
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'stopped' });
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'none' });
  });

  it('is left alone when it is not provably own', async () => {
    const owned = await place.backend().bootstrap(SCOPE, server.fresh, never);
    await place.secrets.remove(place.records.get(SCOPE).credentialRef);
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({
      kind: 'left_alone',
      reason: 'credential_unavailable',
    });
    expect((await owned.enumerate(never)).kind).toBe('enumerated');
    await owned.release();
  });

  it('is nothing to end without a record', async () => {
    expect(await place.backend().endSurvivor(SCOPE, dialRecorded, never)).toEqual({ kind: 'none' });
  });
});
