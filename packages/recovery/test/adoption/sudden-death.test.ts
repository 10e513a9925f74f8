import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Dial } from '@holdfast/executor-contract';
import { startProgram } from '@holdfast/testbeds';
import { ADOPTION_POINTS, type AdoptionPoint, type ControlServerRecords } from '../../src/index.ts';
import { SCOPE, dialRecorded, never, type Installation } from '../fixtures/backend.ts';
import { runControlServer } from '../fixtures/control-server.ts';
import { fileRecords } from '../fixtures/file-records.ts';
import { manualClock } from '../fixtures/manual-clock.ts';
import { proxyTo, type Proxy } from '../fixtures/proxy.ts';
import { survivorRuntime, type SurvivorRuntime } from '../fixtures/survivor-runtime.ts';
import { WatchedInstallation } from '../fixtures/watched-installation.ts';

let watched: WatchedInstallation;
let place: Installation;

beforeEach(async () => {
  watched = await WatchedInstallation.start('death');
  ({ place } = watched);
});

afterEach(async () => {
  await watched[Symbol.asyncDispose]();
});

/** A backend that comes after: it adopts what is on record, or starts a server. */
function nextBackend(
  dial: Dial = dialRecorded,
  records: ControlServerRecords = place.records,
): SurvivorRuntime {
  return survivorRuntime(place.backend({ records }), dial, { startFresh: watched.startFresh });
}

describe('a backend that is killed', () => {
  it.each([
    ['bootstrap.answered', 'started'],
    ['bootstrap.secret_written', 'started'],
    ['bootstrap.record_written', 'adopted'],
    ['rotation.answered', 'adopted'],
    ['rotation.secret_written', 'adopted'],
    ['rotation.record_written', 'adopted'],
    ['rotation.confirmed', 'adopted'],
    ['shutdown.answered', 'started'],
  ] as const)(
    'by SIGKILL at %s leaves what the next one has %s [OWNERSHIP-002.7]',
    async (point: AdoptionPoint, next) => {
      const recordFile = `${place.home}/records.json`;
      const records = fileRecords(recordFile);
      const fresh = await watched.startFresh();
      const bootstraps = point.startsWith('bootstrap.');
      if (!bootstraps) await (await place.backend({ records }).bootstrap(SCOPE, fresh, never)).release();

      await using program = await startProgram([
        process.execPath,
        '--conditions=@holdfast/source',
        fileURLToPath(new URL('../fixtures/dying-backend.ts', import.meta.url)),
        place.home,
        recordFile,
        place.secretFolder,
        point,
      ]);
      if (bootstraps) program.write(`${fresh.endpoint} ${fresh.nonce}`);
      program.endInput();
      expect(await program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });

      const runtime = nextBackend(dialRecorded, records);
      expect(await runtime.open(never)).toMatchObject([{ server: next }]);
      expect(await runtime.server.enumerate(never)).toEqual({ kind: 'enumerated', instances: [] });
      await watched.expectOneDriver(records);
      await runtime.detach();
    },
  );
});

describe('a server that is killed', () => {
  it.each(ADOPTION_POINTS.filter((point) => /^(adoption|rotation)/.test(point)))(
    'by SIGKILL when its backend is at %s is replaced by a fresh one',
    async (point) => {
      await using server = await runControlServer(place.home);
      await (await place.backend().bootstrap(SCOPE, server.fresh, never)).release();
      const dying = place.backend({
        clock: manualClock(),
        crashPoint: (passed) => {
          if (passed === point) server.program.kill('SIGKILL');
        },
      });
      // Whatever it came to: the server may have answered a little longer.
      const adoption = await dying.adopt(SCOPE, dialRecorded, never);
      expect(await server.program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });
      if (adoption.kind === 'adopted') await adoption.server.release();

      const runtime = nextBackend();
      expect(await runtime.open(never)).toMatchObject([{ server: 'started', refusal: 'no_answer' }]);
      await watched.expectOneDriver();
      await runtime.detach();
    },
  );
});

describe('an answer that is lost', () => {
  /** The server on record, with somebody on the way to it who breaks connections. */
  async function behindTunnel(): Promise<{ readonly tunnel: Proxy; readonly dial: Dial }> {
    const fresh = await watched.startFresh();
    await (await place.backend().bootstrap(SCOPE, fresh, never)).release();
    const tunnel = await proxyTo(fresh.endpoint);
    const dial: Dial = async (record) =>
      record.endpoint === fresh.endpoint
        ? await Promise.resolve(tunnel.dialled)
        : await dialRecorded(record, never);
    return { tunnel, dial };
  }

  it.each(
    [
      'GET /identity',
      'POST /ownership/proof',
      'GET /ownership',
      'POST /ownership/rotate',
      'POST /ownership/confirm',
    ].flatMap((step) => [[step, 'break_before'] as const, [step, 'break_after'] as const]),
  )('to %s (%s) leads to no lock-out and no second driver [OWNERSHIP-002.7]', async (step, treatment) => {
    const { tunnel, dial } = await behindTunnel();
    await using _ = tunnel;
    tunnel.treat(step, treatment);
    const cutOff = await place.backend().adopt(SCOPE, dial, never);
    expect(cutOff).toMatchObject(
      step === 'GET /identity' ? { kind: 'absent', why: 'no_answer' } : { kind: 'refused' },
    );
    tunnel.reset();

    const runtime = nextBackend(dial);
    expect(await runtime.open(never)).toMatchObject([{ server: 'adopted' }]);
    await watched.expectOneDriver();
    await runtime.detach();
  });

  it('to a shutdown is asked for again; the server has ended once that says so', async () => {
    const { tunnel, dial } = await behindTunnel();
    await using _ = tunnel;
    const adoption = await place.backend().adopt(SCOPE, dial, never);
    if (adoption.kind !== 'adopted') throw new Error(adoption.kind);
    tunnel.treat('POST /ownership/shutdown', 'break_after', 'once');
    await adoption.server.shutdown();

    const runtime = nextBackend(dial);
    expect(await runtime.open(never)).toMatchObject([{ server: 'started' }]);
    await watched.expectOneDriver();
    await runtime.detach();
  });

  it('to a shutdown that never arrives leaves the server to the next backend', async () => {
    const { tunnel, dial } = await behindTunnel();
    await using _ = tunnel;
    const adoption = await place.backend().adopt(SCOPE, dial, never);
    if (adoption.kind !== 'adopted') throw new Error(adoption.kind);
    tunnel.treat('POST /ownership/shutdown', 'break_before');
    await expect(adoption.server.shutdown()).rejects.toMatchObject({ code: 'server_not_stopped' });

    const runtime = nextBackend(dial);
    expect(await runtime.open(never)).toMatchObject([{ server: 'adopted' }]);
    await watched.expectOneDriver();
    await runtime.detach();
  });

  it.each(['GET /identity', 'POST /ownership/bootstrap', 'GET /ownership'])(
    'to %s of a fresh server leaves no record of it, and the next backend starts another',
    async (step) => {
      const fresh = await watched.startFresh();
      await using tunnel = await proxyTo(fresh.endpoint);
      tunnel.treat(step, 'break_after');
      await expect(
        place.backend().bootstrap(SCOPE, { ...fresh, ...tunnel.dialled }, never),
      ).rejects.toMatchObject({ code: 'bootstrap_failed' });
      expect(await place.records.read(SCOPE)).toBeNull();

      const runtime = nextBackend();
      expect(await runtime.open(never)).toMatchObject([{ server: 'started' }]);
      await watched.expectOneDriver();
      await runtime.detach();
    },
  );
});
