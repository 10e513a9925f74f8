import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { Instance } from '@holdfast/control-protocol';
import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { ProxyTreatment } from '@holdfast/testbeds';
import { descendants, until } from '@holdfast/testbeds';
import * as fc from 'fast-check';
import { SETTINGS } from './fixtures/backend.ts';
import { Recovering, liveInstances, outcomesOf, type Recovery } from './fixtures/recovering.ts';

const SESSIONS = 10;
const BACKENDS = 50;
const TRY_AGAIN_MS = 5;

/** What one session goes through in the life of one backend. */
interface Race {
  /** What breaks on the way to its instance, if anything does. */
  readonly fault: { readonly what: 'reconstruction' | 'turn' | 'stop'; readonly how: ProxyTreatment } | null;
  /** When launches of it come, in milliseconds from the start of the recovery. */
  readonly launchesAt: readonly number[];
  /** Afterwards it gets a second agent, which only a mistake could have made. */
  readonly doubled: boolean;
}

const race: fc.Arbitrary<Race> = fc.record({
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    {
      weight: 2,
      arbitrary: fc.record({
        what: fc.constantFrom('reconstruction', 'turn', 'stop'),
        how: fc.constantFrom<ProxyTreatment>('hang', 'break_before', 'break_after', 'half'),
      }),
    },
  ),
  launchesAt: fc.array(fc.integer({ min: 0, max: 250 }), { minLength: 1, maxLength: 3 }),
  doubled: fc.boolean(),
});

const life = fc.record({
  races: fc.array(race, { minLength: SESSIONS, maxLength: SESSIONS }),
  /** Some deadlines come in the middle of it all. */
  recoveryDeadlineMs: fc.oneof(fc.constant(30_000), fc.integer({ min: 20, max: 300 })),
});

it(`${String(SESSIONS * BACKENDS)} launches race recovery, at any instant of it, and no session ever gets a second agent [SURVIVAL-002.8] [SURVIVAL-002.15] [SURVIVAL-002.16]`, async () => {
  await using world = await World.start();
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(life, async ({ races, recoveryDeadlineMs }) => {
      for (const what of await world.liveOneLife(races, recoveryDeadlineMs)) seen.add(what);
    }),
    // Each life goes on from the one before, so a smaller counterexample would be another story.
    { numRuns: BACKENDS, endOnFailure: true },
  );
  // All of it did happen.
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'retracked',
      'failed_read',
      'deadline',
      'ambiguous',
      'launched',
      'session_recovering',
      'agent_unstoppable',
    ]),
  );
});

/** Ten sessions on one control server, and the backends that come and go. */
class World implements AsyncDisposable {
  readonly #them: Recovering;
  readonly #rows = new Map<string, ExecutionRecord>();
  #launches = 0;

  private constructor(them: Recovering) {
    this.#them = them;
  }

  static async start(): Promise<World> {
    const world = new World(await Recovering.start('races'));
    const sessionIds = Array.from({ length: SESSIONS }, (_, index) => `s${String(index)}`);
    for (const sessionId of sessionIds) {
      const { record } = await world.#them.survivor(sessionId);
      world.#rows.set(sessionId, record);
    }
    return world;
  }

  /** A backend recovers while launches come, and is gone. Gives the outcomes and answers that there were. */
  async liveOneLife(races: readonly Race[], recoveryDeadlineMs: number): Promise<readonly string[]> {
    const them = this.#them;
    them.tunnel.reset();
    const raceOf = new Map([...this.#rows.keys()].map((sessionId, index) => [sessionId, races[index]]));
    for (const [sessionId, { instanceId }] of this.#rows) {
      const fault = raceOf.get(sessionId)?.fault ?? null;
      if (fault === null) continue;
      const request =
        fault.what === 'stop'
          ? `DELETE /instances/${instanceId}`
          : `GET /instances/${instanceId}/${fault.what}`;
      them.tunnel.treat(request, fault.how);
    }
    const recovery = await them.recover([...this.#rows.values()], {
      settings: { ...SETTINGS, recoveryReadTimeoutMs: 150, recoveryReadRetries: 1, recoveryDeadlineMs },
    });
    const seen: string[] = [];
    const launching = new Set<string>();
    await Promise.all(
      [...raceOf].flatMap(([sessionId, of]) =>
        (of?.launchesAt ?? []).map(async (atMs) => {
          await delay(atMs);
          seen.push(...(await this.#launch(sessionId, recovery, launching)));
        }),
      ),
    );
    const outcomes = outcomesOf(await recovery.report);
    seen.push(...(await recovery.report).rows.map(({ outcome }) => outcome.kind));
    if (!(await hasAdopted(recovery))) return seen;

    const live = await this.#settled(recovery);
    for (const sessionId of this.#rows.keys()) {
      const admitted = recovery.guards.admitLaunch(sessionId).kind === 'admitted';
      // A second one is left only where it could not be stopped, and there nothing was launched.
      if (admitted)
        expect([outcomes[sessionId], instancesOf(live, sessionId).length]).toEqual([expect.anything(), 1]);
      if (raceOf.get(sessionId)?.doubled === true) await this.#double(sessionId, recovery);
    }
    return seen;
  }

  /** As a host does it: asks the guard, then launches if the session has no live execution, one launch at a time. */
  async #launch(
    sessionId: string,
    { guards, published, runtime, report }: Recovery,
    launching: Set<string>,
  ): Promise<readonly string[]> {
    const seen: string[] = [];
    const isLive = (): boolean => published.some(({ record }) => record.sessionId === sessionId);
    for (;;) {
      const admission = guards.admitLaunch(sessionId);
      if (admission.kind === 'admitted') break;
      seen.push(admission.error.code);
      if (!admission.error.retryable) return seen;
      await delay(TRY_AGAIN_MS);
    }
    if (isLive() || launching.has(sessionId)) return seen;
    launching.add(sessionId);
    // On a busy machine the server may be too slow for reads as short as these; then it is the next backend's.
    if (!(await hasAdopted({ report }))) return seen;
    // Rows that recovery says are alive elsewhere are looked at again before a launch, as runtimes do.
    const before = instancesOf(await liveInstances(runtime), sessionId);
    const notEnumerated = (await report).rows.some(
      ({ row, outcome }) => row.sessionId === sessionId && outcome.kind === 'not_enumerated',
    );
    if (notEnumerated && before.length > 0) return seen;
    this.#launches += 1;
    const executionId = `execution-${sessionId}-${String(this.#launches)}`;
    const { record } = await this.#them.survivor(sessionId, { executionId, server: runtime.server });
    const after = instancesOf(await liveInstances(runtime), sessionId);
    expect({ sessionId, instances: after.map((instance) => instance.executionId) }).toEqual({
      sessionId,
      instances: [executionId],
    });
    this.#rows.set(sessionId, record);
    return [...seen, 'launched'];
  }

  async #double(sessionId: string, { runtime }: Recovery): Promise<void> {
    this.#launches += 1;
    // Half of them say that they are what the row names, so that none is certainly the own one.
    const executionId =
      this.#launches % 2 === 0
        ? String(this.#rows.get(sessionId)?.executionId)
        : `double-${sessionId}-${String(this.#launches)}`;
    await this.#them.survivor(sessionId, { executionId, server: runtime.server });
  }

  /** What is live once the stops are over that go on behind guards: the processes on this machine are the agents that the server tells of. */
  async #settled({ runtime }: Recovery): Promise<readonly Instance[]> {
    return await until(
      async () => {
        const live = await liveInstances(runtime);
        const told = live.flatMap(({ agentPid }) => (agentPid === null ? [] : [agentPid]));
        const running = descendants(this.#them.serverPid);
        return told.length === running.length && running.every((pid) => told.includes(pid)) && live;
      },
      { reason: 'the server to tell of the processes that there are', withinMs: 60_000 },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#them[Symbol.asyncDispose]();
  }
}

async function hasAdopted({ report }: Pick<Recovery, 'report'>): Promise<boolean> {
  return (await report).scopes.some(({ server }) => server === 'adopted');
}

function instancesOf(live: readonly Instance[], sessionId: string): readonly Instance[] {
  return live.filter((instance) => instance.sessionId === sessionId);
}
