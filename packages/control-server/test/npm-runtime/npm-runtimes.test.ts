import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { testHome, until } from '@holdfast/testbeds';
import { createLog } from '../../src/diagnostics/log.ts';
import { NpmRuntimes, type RuntimeStart } from '../../src/npm-runtime/npm-runtimes.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { insteadOfNpm, longSleep, running } from '../support/npm-world.ts';

const SLEEP = longSleep(3);

it('holds back the starts of a package while its copy is removed, and those alone', async () => {
  await using home = await testHome('npm-runtimes');
  const runtimes = new NpmRuntimes({
    clock: systemClock(),
    log: createLog({ write: () => undefined }),
    directory: home.path('npm-runtime'),
    nextId: () => randomBytes(16).toString('hex'),
  });
  const stop = new AbortController();
  const request = (packageSpec: string, signal: AbortSignal): RuntimeStart => ({
    instanceId: 'one',
    packageSpec,
    environment: {},
    preference: '--prefer-offline',
    signal,
  });
  const PATH = await insteadOfNpm(home.path('bin'), SLEEP);
  const repairing = runtimes
    .repair({ ...request('agent@1.0.0', stop.signal), environment: { PATH } })
    .catch((error: unknown) => error);
  await until(() => running(SLEEP).length > 0, { reason: 'npm to be asked', withinMs: 60_000 });

  const begun: string[] = [];
  const given = new AbortController();
  const start = async (spec: string, signal = new AbortController().signal): Promise<unknown> =>
    await runtimes
      .start(request(spec, signal), async () => await Promise.resolve(begun.push(spec)))
      .catch((error: unknown) => error);
  const held = start('agent@1.0.0');
  const givenUp = start('agent@1.0.0', given.signal);
  await start('agent@1.0.1');
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  expect(begun).toEqual(['agent@1.0.1']);
  given.abort('no longer wanted');
  expect(await givenUp).toBe('no longer wanted');

  stop.abort('given up');
  expect(await repairing).toBe('given up');
  await held;
  expect(begun).toEqual(['agent@1.0.1', 'agent@1.0.0']);
});
