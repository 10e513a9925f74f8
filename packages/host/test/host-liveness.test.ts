import { describe, expect, it } from '@jest/globals';
import type { ExecutionRecord } from '@holdfast/executor-contract';
import { SessionGuards } from '@holdfast/recovery';
import { HostLiveness } from '../src/liveness/host-liveness.ts';
import { recoveringHost } from '../src/startup/recovering-host.ts';

const signal = new AbortController().signal;

const ROW: ExecutionRecord = {
  executionId: 'execution-1',
  sessionId: 'one',
  taskId: 'task-one',
  runtime: 'standalone',
  scope: 'standalone',
  serverId: 'server-1',
  instanceId: 'instance-1',
  agentProcess: null,
  agentProfileId: 'scripted',
  workspacePath: '/workspace',
  containerId: null,
  metadata: {},
  sessionMode: 'managed',
};

interface Situation {
  readonly liveness: HostLiveness;
  readonly guards: SessionGuards;
  /** The scopes whose refused server was asked for. */
  readonly asked: readonly string[];
  readonly tell: (row?: ExecutionRecord) => Promise<string>;
}

/** A host that drives no server and has no runtime, so that only what it knows itself counts. */
function situation(): Situation {
  const asked: string[] = [];
  const guards = new SessionGuards({ retryAfterMs: 100 });
  const liveness = new HostLiveness({
    survival: true,
    runtimes: new Map(),
    servers: () => [],
    ownership: {
      refusedServer: async (scope) => {
        asked.push(scope);
        return await Promise.resolve('answers');
      },
    },
    guards,
  });
  const tell = async (row = ROW): Promise<string> => {
    const told = (await liveness.pass([row], signal)).get(row);
    return `${told?.liveness ?? ''}: ${told?.why ?? ''}`;
  };
  return { liveness, guards, asked, tell };
}

describe('what a host says about a row that it inherited', () => {
  it('is nothing, without asking, until recovery is over [SURVIVAL-003.6]', async () => {
    const { liveness, asked, tell } = situation();
    expect(await tell()).toBe('unknown: its recovery is under way');
    expect(asked).toEqual([]);
    liveness.recoveryIsOver();
    expect(await tell()).toMatch(/^unknown: the control server that it was on may be there/);
    expect(asked).toEqual(['standalone']);
  });

  it('is nothing, without asking, while the stop of its instance is under way [SURVIVAL-003.6]', async () => {
    const { liveness, guards, asked, tell } = situation();
    liveness.recoveryIsOver();
    const underWay = 'unknown: the stop of its instance is under way';
    guards.acquire('one');
    expect(await tell()).toBe(underWay);
    guards.release('one');
    await liveness.whileStopping('one', async () => {
      expect(await tell()).toBe(underWay);
    });
    expect(asked).toEqual([]);
    await expect(
      liveness.whileStopping('one', async () => await Promise.reject(new Error('no'))),
    ).rejects.toThrow('no');
    expect(await tell()).not.toBe(underWay);
  });

  it('is told in one pass by one question to each server', async () => {
    const { liveness, asked } = situation();
    liveness.recoveryIsOver();
    const rows = ['a', 'b', 'c'].map((sessionId) => ({ ...ROW, sessionId, executionId: sessionId }));
    expect((await liveness.pass(rows, signal)).size).toBe(3);
    expect(asked).toEqual(['standalone']);
    await liveness.pass(rows, signal);
    expect(asked).toHaveLength(2);
  });
});

describe('a host that recovers', () => {
  it('says of every session that nothing is certain, without asking anybody [SURVIVAL-003.6]', async () => {
    const { guards } = situation();
    expect(await recoveringHost(guards, 100).sessions.liveness('one')).toEqual({
      liveness: 'unknown',
      why: 'the sessions of this host are being recovered',
    });
  });
});
