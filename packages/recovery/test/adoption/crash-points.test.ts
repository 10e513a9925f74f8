import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPABILITIES } from '@holdfast/control-protocol';
import type { OwnedControlServer, Ownership } from '@holdfast/executor-contract';
import { ADOPTION_POINTS, type AdoptionPoint, type OwnershipOptions } from '../../src/index.ts';
import { SCOPE, dialRecorded, never, type Installation } from '../fixtures/backend.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { survivorRuntime } from '../fixtures/survivor-runtime.ts';
import { WatchedInstallation } from '../fixtures/watched-installation.ts';

/** What a backend is about when it dies. */
type Undertaking = 'adopt' | 'stop_incompatible' | 'end_survivor' | 'bootstrap' | 'start_over' | 'shut_down';

/** By which undertakings a point is passed, and what the next backend then finds. A point without a row does not compile. */
const WAYS: Readonly<Record<AdoptionPoint, Partial<Record<Undertaking, 'adopted' | 'started'>>>> = {
  'adoption.record_read': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'adoption.dialled': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'adoption.identity_read': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'adoption.secret_read': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'adoption.proven': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'adoption.authenticated': { adopt: 'adopted', stop_incompatible: 'adopted', end_survivor: 'adopted' },
  'rotation.answered': { adopt: 'adopted' },
  'rotation.proven': { adopt: 'adopted' },
  'rotation.secret_written': { adopt: 'adopted' },
  'rotation.record_written': { adopt: 'adopted' },
  'rotation.confirmed': { adopt: 'adopted' },
  'rotation.renewing': { adopt: 'adopted' },
  'rotation.old_secret_removed': { adopt: 'adopted' },
  // Until its record is written, nobody but its starter knows a server.
  'bootstrap.identity_read': { bootstrap: 'started', start_over: 'started' },
  'bootstrap.answered': { bootstrap: 'started', start_over: 'started' },
  'bootstrap.authenticated': { bootstrap: 'started', start_over: 'started' },
  'bootstrap.secret_written': { bootstrap: 'started', start_over: 'started' },
  'bootstrap.record_written': { bootstrap: 'adopted', start_over: 'adopted' },
  'bootstrap.renewing': { bootstrap: 'adopted', start_over: 'adopted' },
  'bootstrap.old_secret_removed': { start_over: 'adopted' },
  'shutdown.renewal_stopped': { shut_down: 'adopted' },
  'shutdown.answered': { shut_down: 'started', stop_incompatible: 'started', end_survivor: 'started' },
  'shutdown.ended': { shut_down: 'started', stop_incompatible: 'started', end_survivor: 'started' },
};

const CASES = ADOPTION_POINTS.flatMap((point) =>
  Object.entries(WAYS[point]).map(([undertaking, next]) => ({ point, undertaking, next })),
);

class Died extends Error {
  override readonly name = 'Died';
}

let watched: WatchedInstallation;
let place: Installation;

beforeEach(async () => {
  watched = await WatchedInstallation.start('crash');
  ({ place } = watched);
});

afterEach(async () => {
  await watched[Symbol.asyncDispose]();
});

/** A backend whose renewal never comes, as that of a process that is gone. */
function backend(given: Partial<OwnershipOptions> = {}): Ownership {
  return place.backend({ clock: manualClock(), ...given });
}

/** A backend that is gone before the one that dies starts its server and lets go of it. */
async function ownServer(ownership = backend()): Promise<OwnedControlServer> {
  return await ownership.bootstrap(SCOPE, await watched.startFresh(), never);
}

/** Does what it is about, with an ownership that ends it at the point; rejects with what that throws. */
async function undertake(undertaking: string, crashPoint: (point: AdoptionPoint) => void): Promise<void> {
  switch (undertaking) {
    case 'adopt': {
      await ownServer();
      await backend({ crashPoint }).adopt(SCOPE, dialRecorded, never);
      return;
    }
    case 'stop_incompatible': {
      await ownServer();
      const requiredCapabilities = [...CAPABILITIES, 'time-travel.v1'];
      await place.backend({ crashPoint, requiredCapabilities }).adopt(SCOPE, dialRecorded, never);
      return;
    }
    case 'end_survivor': {
      await ownServer();
      await place.backend({ crashPoint }).endSurvivor(SCOPE, dialRecorded, never);
      return;
    }
    case 'bootstrap': {
      await ownServer(backend({ crashPoint }));
      return;
    }
    case 'start_over': {
      await ownServer();
      await watched.servers[0]?.server.stop();
      const dying = backend({ crashPoint });
      await dying.adopt(SCOPE, dialRecorded, never);
      await ownServer(dying);
      return;
    }
    default: {
      // It waits for the server to end, on the machine's own clock.
      await (await ownServer(place.backend({ crashPoint }))).shutdown();
    }
  }
}

describe('a backend that dies between two steps', () => {
  it.each(CASES)(
    'at $point ($undertaking): the next one has $next a server, and nobody else drives it [OWNERSHIP-002.7]',
    async ({ point, undertaking, next }) => {
      const death = new Died(point);
      const dying = undertake(undertaking, (passed) => {
        if (passed === point) throw death;
      });
      await expect(dying).rejects.toBe(death);

      const runtime = survivorRuntime(backend(), dialRecorded, {
        startFresh: watched.startFresh,
      });
      expect(await runtime.open(never)).toMatchObject([{ server: next }]);
      expect(await runtime.server.enumerate(never)).toEqual({ kind: 'enumerated', instances: [] });

      expect(place.records.get(SCOPE).serverId).toBe(runtime.server.serverId);
      await watched.expectOneDriver();
      await runtime.detach();
    },
  );

  it.each([
    ['adopt', 'adoption.', 'rotation.'],
    ['start_over', 'bootstrap.'],
    ['shut_down', 'shutdown.'],
  ])('passes the points in their order (%s)', async (undertaking, ...groups) => {
    const inGroups = (point: AdoptionPoint): boolean => groups.some((group) => point.startsWith(group));
    const passed: AdoptionPoint[] = [];
    await undertake(undertaking, (point) => {
      if (inGroups(point)) passed.push(point);
    });
    expect(passed).toEqual(ADOPTION_POINTS.filter(inGroups));
  });
});
