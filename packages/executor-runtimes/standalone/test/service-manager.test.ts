import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { processStartTime, testHome, waitForExit, type TestHome } from '@holdfast/testbeds';
import { PASSED_ON } from '../src/index.ts';
import type { Machine } from '../src/machine.ts';
import { backend } from './fixtures/installation.ts';
import { startBackend } from './fixtures/running-backend.ts';
import { environmentOf, serverOf, sessionOf } from './fixtures/server-process.ts';
import { standIns, type StandInOptions } from './fixtures/systemd.ts';

const never: AbortSignal = new AbortController().signal;
const SYSTEM_SERVICE = '0::/system.slice/myapp.service\n';
const USER_SERVICE = '0::/user.slice/user-1000.slice/user@1000.service/app.slice/myapp.service\n';
const LOGIN = '0::/user.slice/user-1000.slice/session-3.scope\n';

let place: TestHome;
let home: string;

beforeEach(async () => {
  place = await testHome('service-manager');
  home = await place.folder('home');
});

afterEach(async () => {
  await place[Symbol.asyncDispose]();
});

/** Opens a runtime in a backend that finds itself in this group, with stand-ins for systemd first on its PATH. */
async function open(given: {
  readonly cgroup: string;
  readonly systemd: Partial<StandInOptions>;
  readonly machine?: Partial<Machine>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly survival?: boolean;
}): Promise<{ warnings: readonly string[]; calls: readonly string[]; names: readonly string[] }> {
  const systemd = await standIns(await place.folder('systemd'), {
    killMode: 'control-group',
    systemdRun: 'works',
    linger: 'yes',
    ...given.systemd,
  });
  const { PATH = '' } = process.env;
  const { runtime } = backend({
    home,
    context: {
      survival: given.survival ?? true,
      environment: { PATH: `${systemd.folder}:${PATH}`, ...given.environment },
    },
    machine: {
      userId: 1000,
      readCgroup: async () => await Promise.resolve(given.cgroup),
      ...given.machine,
    },
  });
  const [report] = await runtime.open(never);
  expect(report).toMatchObject({ server: 'started', refusal: null });
  const names = Object.keys(environmentOf(serverOf(home).pid));
  await runtime.close();
  return { warnings: report?.warnings ?? [], calls: await systemd.calls(), names };
}

/** What was asked of whom, without the names of the scopes and what ran in them. */
function brief(calls: readonly string[]): readonly string[] {
  return calls.map((call) => call.replace(/ --unit=.*$/, ''));
}

describe('in a service whose end ends all its processes', () => {
  it('the server is started in a scope of its own, with the process id, session and environment that it has elsewhere', async () => {
    const { PATH = '' } = process.env;
    const systemd = await standIns(await place.folder('systemd'), {
      killMode: 'control-group',
      systemdRun: 'works',
      linger: 'yes',
    });
    await using running = await startBackend({
      home,
      survival: 'on',
      cgroup: USER_SERVICE,
      env: {
        PATH: `${systemd.folder}:${PATH}`,
        XDG_RUNTIME_DIR: place.path('run'),
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere',
        INVOCATION_ID: 'of-the-backend',
      },
    });
    const { report, server, agent } = running;
    expect(report).toMatchObject({ server: 'started', warnings: [] });
    // The stand-in has become the server: there is nothing in between, and the group is its own.
    expect(server).toMatchObject({ parentPid: running.pid, groupId: server.pid });
    expect(sessionOf(server.pid)).toBe(server.pid);
    const names = Object.keys(environmentOf(server.pid)).filter((name) => !/^(LC|KANDEV_ACP)_/.test(name));
    expect(names.filter((name) => !PASSED_ON.some((passed) => passed === name))).toEqual([]);
    expect(names).toContain('PATH');
    expect((await systemd.calls()).filter((call) => call.startsWith('systemd-run'))).toEqual([
      expect.stringMatching(/ --user --scope .*-probe .* true$/),
      expect.stringContaining(` --home ${home} --lifetime detached --bootstrap stdin`),
    ]);

    process.kill(-running.program.pid, 'SIGKILL');
    await running.ended();
    const next = backend({ home });
    expect(await next.runtime.open(never)).toMatchObject([{ server: 'adopted', warnings: [] }]);
    expect(processStartTime(agent.pid)).toBe(agent.startTime);
    await next.runtime.close();
    await waitForExit(server.pid, { withinMs: 60_000, reason: 'it answers no more' });
  });

  it.each(['control-group', 'mixed', null])('a scope is used with kill mode %s', async (killMode) => {
    const { warnings, calls, names } = await open({ cgroup: USER_SERVICE, systemd: { killMode } });
    expect(warnings).toEqual([]);
    expect(brief(calls)).toEqual([
      'systemctl [/run/user/1000] --user show --property=KillMode -- myapp.service',
      'systemd-run [/run/user/1000] --user --scope --quiet --collect',
      'loginctl [/run/user/1000] show-user --property=Linger -- 1000',
      'systemd-run [/run/user/1000] --user --scope --quiet --collect',
    ]);
    expect(names).not.toContain('XDG_RUNTIME_DIR');
  });

  it('a service of the system that runs as a user gets its scope from the manager of that user', async () => {
    const { warnings, calls } = await open({
      cgroup: SYSTEM_SERVICE,
      systemd: { linger: 'no' },
      environment: { XDG_RUNTIME_DIR: '/run/elsewhere' },
    });
    expect(brief(calls)).toEqual([
      'systemctl [none] --system show --property=KillMode -- myapp.service',
      'systemd-run [/run/elsewhere] --user --scope --quiet --collect',
      'loginctl [/run/elsewhere] show-user --property=Linger -- 1000',
      'systemd-run [/run/elsewhere] --user --scope --quiet --collect',
    ]);
    expect(warnings).toEqual([expect.stringContaining('loginctl enable-linger')]);
  });

  it('a service of the system that runs as root gets its scope from the manager of the system', async () => {
    const { warnings, calls } = await open({
      cgroup: SYSTEM_SERVICE,
      systemd: {},
      machine: { userId: 0 },
    });
    expect(brief(calls)).toEqual([
      'systemctl [none] --system show --property=KillMode -- myapp.service',
      'systemd-run [none] --system --scope --quiet --collect',
      'systemd-run [none] --system --scope --quiet --collect',
    ]);
    expect(warnings).toEqual([]);
  });

  it('without a usable systemd-run the server is started as elsewhere, and the risk is told', async () => {
    const { warnings, calls } = await open({ cgroup: USER_SERVICE, systemd: { systemdRun: 'fails' } });
    expect(warnings).toEqual([
      'the backend runs in myapp.service with KillMode=control-group: stopping the unit will stop the agents; set KillMode=process or make systemd-run usable (it said: Failed to connect to bus: No medium found)',
    ]);
    expect(calls.filter((call) => call.startsWith('systemd-run'))).toHaveLength(1);
  });

  it('a unit that is hidden, or whose mode cannot be told, is named as far as it is known', async () => {
    const { warnings } = await open({
      cgroup: '0::/\n',
      systemd: { systemdRun: 'fails' },
      environment: { INVOCATION_ID: '07f9de6c42464d5baaab601e276e4522' },
    });
    expect(warnings).toEqual([
      expect.stringContaining(
        'the backend runs in a systemd unit that cannot be named with a KillMode that cannot be told: ',
      ),
    ]);
  });
});

describe('systemd is not used', () => {
  it.each(['process', 'none'])('in a service with kill mode %s, but to ask for that', async (killMode) => {
    const { warnings, calls } = await open({ cgroup: USER_SERVICE, systemd: { killMode } });
    expect(warnings).toEqual([]);
    expect(calls).toEqual([expect.stringContaining('systemctl')]);
  });

  it('outside of services', async () => {
    const { warnings, calls } = await open({ cgroup: LOGIN, systemd: { systemdRun: 'fails' } });
    expect(warnings).toEqual([]);
    expect(calls).toEqual([]);
  });

  it('for a server that is to end with its backend', async () => {
    const { warnings, calls } = await open({
      cgroup: USER_SERVICE,
      systemd: { systemdRun: 'fails' },
      survival: false,
    });
    expect(warnings).toEqual([]);
    expect(calls).toEqual([]);
  });
});
