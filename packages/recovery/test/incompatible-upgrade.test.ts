import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES, REQUIRED_CAPABILITIES } from '@holdfast/control-protocol';
import type {
  Dial,
  ExecutionRecord,
  FreshServer,
  OwnedControlServer,
  ScopeReport,
} from '@holdfast/executor-contract';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import { processIsAlive, processStartTime } from '@holdfast/testbeds';
import {
  SessionGuards,
  planReconciliation,
  recover,
  type AdoptionPoint,
  type ReconciliationPlan,
  type RecoveryReport,
} from '../src/index.ts';
import { SCOPE, SETTINGS, dialRecorded, installation, never, type Installation } from './fixtures/backend.ts';
import { judged } from './fixtures/judged.ts';
import { ports } from './fixtures/ports.ts';
import { manualClock } from './fixtures/manual-clock.ts';
import { proxyTo, type Proxy, type Treatment } from './fixtures/proxy.ts';
import { row } from './fixtures/rows.ts';
import { forServer, serverHere, type ServerHere } from './fixtures/server-here.ts';
import { launchOn, survivorRuntime, type SurvivorRuntime } from './fixtures/survivor-runtime.ts';

/** What the server of the older version can do: not all that is needed now, and something that is not needed any more. */
const OLDER = ['instances.v1', 'agents.acp.v1', 'events.v1', 'turns.v0', 'permissions.v1'];

let place: Installation;
let servers: ServerHere[];
let tunnel: Proxy;

beforeEach(async () => {
  place = await installation('upgrade');
  servers = [];
});

afterEach(async () => {
  await tunnel[Symbol.asyncDispose]();
  for (const server of servers) await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

async function startServer(given: Parameters<typeof serverHere>[1] = {}): Promise<ServerHere> {
  const started = await serverHere(place.home, given);
  servers.push(started);
  return started;
}

async function startFresh(): Promise<FreshServer> {
  return (await startServer()).fresh;
}

interface Survivor {
  readonly own: ServerHere;
  readonly rows: readonly ExecutionRecord[];
  readonly agents: readonly number[];
  /** Of the backend that is gone. */
  readonly owned: OwnedControlServer;
}

/** A server that outlived its backend with two live sessions, behind a tunnel. */
async function survivor(given: Parameters<typeof serverHere>[1] = {}): Promise<Survivor> {
  const own = await startServer(given);
  tunnel = await proxyTo(own.fresh.endpoint);
  const requiredCapabilities = given.capabilities ?? REQUIRED_CAPABILITIES;
  const before = place.backend({ requiredCapabilities, clock: manualClock() });
  const owned = await before.bootstrap(SCOPE, own.fresh, never);
  const rows: ExecutionRecord[] = [];
  const agents: number[] = [];
  for (const sessionId of ['s1', 's2']) {
    const { instance } = await launchOn(owned, {
      executionId: `execution-${sessionId}`,
      sessionId,
      taskId: `task-${sessionId}`,
      workspacePath: place.home,
      workspaceSourceRoots: [place.home],
      environment: {},
    });
    const { agentPid } = await owned.client.call('startAgent', {
      instanceId: instance.instanceId,
      command: scriptedAgentCommand(),
      session: { kind: 'new' },
      mcpServers: [],
      approval: 'allow',
    });
    agents.push(agentPid);
    rows.push(
      row(sessionId, {
        serverId: owned.serverId,
        instanceId: instance.instanceId,
        agentProcess: { pid: agentPid, startTime: processStartTime(agentPid) ?? 'it has ended' },
        metadata: { worktree: `tree-${sessionId}` },
      }),
    );
  }
  await owned.release();
  place.events.length = 0;
  return { own, rows, agents, owned };
}

/** Reaches the survivor through the tunnel, and any other server as its record says. */
function dialTo({ own }: Survivor): Dial {
  return async (record, signal) =>
    record.endpoint === own.fresh.endpoint ? tunnel.dialled : await dialRecorded(record, signal);
}

interface Recovered {
  readonly runtime: SurvivorRuntime;
  readonly report: RecoveryReport;
  readonly scope: ScopeReport | undefined;
  readonly outcomes: readonly string[];
  readonly plan: ReconciliationPlan;
  readonly published: number;
}

/** A backend of today starts. */
async function recovered(
  alive: Survivor,
  given: { readonly survival?: boolean; readonly crashPoint?: (point: AdoptionPoint) => void } = {},
): Promise<Recovered> {
  const { survival = true, crashPoint = () => undefined } = given;
  const ownership = place.backend({ crashPoint });
  const runtime = survivorRuntime(ownership, dialTo(alive), { startFresh, survival });
  let published = 0;
  const recovery = await recover({
    runtimes: [runtime],
    rows: alive.rows,
    guards: new SessionGuards({ retryAfterMs: 100 }),
    ports: ports(),
    settings: SETTINGS,
    signal: never,
    publish: () => {
      published += 1;
    },
    onEvent: (event) => place.events.push(event),
  });
  const report = await judged(recovery, { runtime, ownership, servers: [runtime.server] });
  await runtime.detach();
  return {
    runtime,
    report,
    scope: report.scopes[0],
    outcomes: report.rows.map(({ outcome }) => outcome.kind),
    plan: planReconciliation(report.rows),
    published,
  };
}

/** Both sessions made truthful, and both rows repaired. */
function repaired({ rows }: Survivor): ReconciliationPlan {
  return {
    sessions: rows.map(({ sessionId, executionId }) => ({
      sessionId,
      session: 'reconcile',
      repair: [executionId],
    })),
  };
}

describe('an own server without a capability that is needed', () => {
  it('is stopped with its instances, their rows are repaired at once, and a fresh server starts [OWNERSHIP-004.1] [OWNERSHIP-004.3]', async () => {
    const old = await survivor({ capabilities: OLDER });
    const before = place.records.get(SCOPE);
    const { runtime, scope, outcomes, plan, published } = await recovered(old);

    expect(await old.own.server.ended).toEqual({ why: 'shutdown' });
    expect(old.agents.filter(processIsAlive)).toEqual([]);
    expect(tunnel.seen.slice(0, 4)).toEqual([
      'GET /identity',
      'POST /ownership/proof',
      'GET /ownership *',
      'POST /ownership/shutdown *',
    ]);
    // After that only whether it has gone.
    expect(new Set(tunnel.seen.slice(4))).toEqual(new Set(['GET /identity']));
    expect(place.events).toContainEqual({
      name: 'adoption.incompatible_stopped',
      scope: SCOPE,
      missing: ['turns.v1'],
    });

    expect({ outcomes, published }).toEqual({ outcomes: ['no_instance', 'no_instance'], published: 0 });
    expect(plan).toEqual(repaired(old));
    expect(scope).toMatchObject({ server: 'started', refusal: null });
    const record = place.records.get(SCOPE);
    expect(record.serverId).toBe(runtime.server.serverId);
    await expect(place.secrets.read(before.credentialRef)).rejects.toMatchObject({
      code: 'secret_unavailable',
    });
  });

  it('has the capabilities on record that were seen, at start and after the upgrade [OWNERSHIP-004.5]', async () => {
    const old = await survivor({ capabilities: OLDER });
    expect(place.records.get(SCOPE).capabilities).toEqual(OLDER);
    await recovered(old);
    expect(place.records.get(SCOPE).capabilities).toEqual([...CAPABILITIES]);
  });

  it('ends its sessions as with the capability switched off [OWNERSHIP-004.4]', async () => {
    const upgraded = await recovered(await survivor({ capabilities: OLDER }));
    await tunnel[Symbol.asyncDispose]();
    const switchedOff = await recovered(await survivor(), { survival: false });
    expect(upgraded.plan).toEqual(switchedOff.plan);
    expect(upgraded.outcomes).toEqual(switchedOff.outcomes);
  });

  it.each<readonly [string, Treatment]>([
    ['fails', 'internal'],
    ['never arrives', 'break_before'],
    ['is not allowed', 'credential_superseded'],
  ])('is left alone for good when its stop %s [OWNERSHIP-004.7]', async (_how, treatment) => {
    const old = await survivor({ capabilities: OLDER });
    const before = place.records.get(SCOPE);
    const credential = await place.secrets.read(before.credentialRef);
    tunnel.treat('POST /ownership/shutdown', treatment);
    const { runtime, scope, outcomes, plan, published } = await recovered(old);

    const stops = (): number => tunnel.seen.filter((what) => what === 'POST /ownership/shutdown *').length;
    // An answer of the protocol is final; anything else is asked again, on the read budget.
    expect(stops()).toBe(treatment === 'credential_superseded' ? 1 : SETTINGS.recoveryReadRetries + 1);
    expect(
      place.events.flatMap((event) => (event.name === 'adoption.refused' ? [event.reason] : [])),
    ).toEqual(['capability_incompatibility']);
    expect(scope).toMatchObject({ server: 'started', refusal: 'capability_incompatibility' });
    expect({ outcomes, published, repairs: plan.sessions.flatMap(({ repair }) => repair) }).toEqual({
      outcomes: ['adoption_refused', 'adoption_refused'],
      published: 0,
      repairs: [],
    });

    const record = place.records.get(SCOPE);
    expect(record.serverId).toBe(runtime.server.serverId);
    expect(record.endpoint).not.toBe(before.endpoint);
    expect(await place.secrets.read(before.credentialRef)).toBe(credential);
    expect(old.agents.filter(processIsAlive)).toEqual(old.agents);

    // The next backend has nothing to do with it any more.
    const seen = tunnel.seen.length;
    const next = await recovered(old);
    expect(next.scope).toMatchObject({ server: 'adopted', refusal: null });
    // It sees the rows again. Their agents live, and not on its own server.
    expect(next.report.rows).toMatchObject(
      old.rows.map(() => ({
        outcome: { kind: 'no_instance' },
        liveness: { situation: 'no_server', liveness: 'alive' },
      })),
    );
    expect(next.plan.sessions.flatMap(({ repair }) => repair)).toEqual([]);
    expect({ stops: stops() > 2, seen: tunnel.seen.length }).toEqual({ stops: false, seen });
    expect((await old.owned.enumerate(never)).kind).toBe('enumerated');
  });

  it('counts as stopped when the answer to its stop is lost and it is gone then [OWNERSHIP-004.7]', async () => {
    const old = await survivor({ capabilities: OLDER });
    tunnel.treat('POST /ownership/shutdown', 'break_after', 'once');
    await expectStopped(old, await recovered(old));
  });

  it('counts as stopped when it was stopping already and is gone then [OWNERSHIP-004.7]', async () => {
    const old = await survivor({ capabilities: OLDER });
    tunnel.treat('POST /ownership/shutdown', 'shutting_down');
    const crashPoint = (point: AdoptionPoint): void => {
      if (point === 'adoption.authenticated') void old.own.server.stop();
    };
    await expectStopped(old, await recovered(old, { crashPoint }));
  });

  async function expectStopped(old: Survivor, { scope, plan }: Recovered): Promise<void> {
    expect(scope).toMatchObject({ server: 'started', refusal: null });
    expect(plan).toEqual(repaired(old));
    await old.own.server.ended;
    expect(place.events.map(({ name }) => name)).not.toContain('adoption.unowned_shutdown');
    expect(old.agents.filter(processIsAlive)).toEqual([]);
  }
});

describe('a server with more capabilities than are needed', () => {
  it('is adopted [OWNERSHIP-004.2]', async () => {
    const newer = await survivor({ capabilities: ['zzz.v9', ...CAPABILITIES, 'turns.v2'] });
    const { scope, outcomes } = await recovered(newer);
    expect(scope).toMatchObject({ server: 'adopted', refusal: null });
    expect(outcomes).toEqual(['retracked', 'retracked']);
  });
});

describe('a server that nobody owned for its period', () => {
  it('has stopped its agents; the next backend repairs their rows [OWNERSHIP-003.5]', async () => {
    const clock = manualClock();
    const alone = await survivor({
      clock: forServer(clock),
      settings: { unownedPeriodMs: 60_000, detachedEventLimit: 100, idleTimeoutMs: 3_600_000 },
    });
    clock.advance(60_000);
    // Stopping takes its time.
    const moving = setInterval(() => {
      clock.advance(100);
    }, 10);
    expect(await alone.own.server.ended).toEqual({ why: 'unowned' });
    clearInterval(moving);
    expect(alone.agents.filter(processIsAlive)).toEqual([]);

    const { scope, outcomes, plan } = await recovered(alone);
    expect(scope).toMatchObject({ server: 'started', refusal: 'no_answer' });
    expect(outcomes).toEqual(['no_instance', 'no_instance']);
    expect(plan).toEqual(repaired(alone));
    expect(place.events).toContainEqual({
      name: 'adoption.unowned_shutdown',
      scope: SCOPE,
      serverId: alone.owned.serverId,
    });
  });
});
