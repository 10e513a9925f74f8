import { readFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SETTINGS } from '@holdfast/control-protocol';
import { testHome, type TestHome } from '@holdfast/testbeds';
import { PASSED_ON } from '../src/index.ts';
import { backend } from './fixtures/installation.ts';
import { startBackend, type RunningBackend } from './fixtures/running-backend.ts';
import { environmentOf, kernelView, openFiles, sessionOf } from './fixtures/server-process.ts';
import { asShell, hasTerminals, inTerminal } from './fixtures/terminal.ts';

const never: AbortSignal = new AbortController().signal;
const CANARY = 'hush-6f1d';

// Of the test run itself: anybody may raise them, not everybody may lower them.
const NICE = Math.min(getPriority() + 3, 19);
const OOM_SCORE_ADJUSTMENT = Math.min(Number(readFileSync('/proc/self/oom_score_adj', 'utf8')) + 21, 1000);

/** What a backend may have been given by whoever started it. */
const SURROUNDINGS = [
  "trap '' HUP TERM INT",
  'umask 027',
  'ulimit -c 0',
  `echo ${String(OOM_SCORE_ADJUSTMENT)} > /proc/self/oom_score_adj`,
  'exec 7> held-open',
].join('; ');

let place: TestHome;
let home: string;
let elsewhere: string;
let running: RunningBackend;

beforeEach(async () => {
  place = await testHome('inherited');
  home = await place.folder('home');
  elsewhere = await place.folder('elsewhere');
  running = await startBackend({
    home,
    survival: 'on',
    cwd: elsewhere,
    env: { DATABASE_PASSWORD: CANARY, LC_TIME: 'C', SHELL: '/bin/sh', INVOCATION_ID: CANARY },
    under: (command) => {
      const line = `${SURROUNDINGS}; exec nice -n 3 ${asShell(command)}`;
      return hasTerminals() ? inTerminal(line) : ['sh', '-c', line];
    },
  });
});

afterEach(async () => {
  await running[Symbol.asyncDispose]();
  const { runtime } = backend({ home });
  await runtime.open(never);
  await runtime.close();
  await place[Symbol.asyncDispose]();
});

// Not among Node's names.
const SIGXFSZ = 1n << 24n;
const bit = (signal: keyof typeof constants.signals): bigint => 1n << BigInt(constants.signals[signal] - 1);

describe('a detached control server', () => {
  it('has of its backend no session, no terminal, no open file, no signal setting, no working directory and no secret', () => {
    const { pid, server, agent } = running;
    const ofBackend = kernelView(pid);
    const ofServer = kernelView(server.pid);

    expect(sessionOf(server.pid)).toBe(server.pid);
    expect(server.groupId).toBe(server.pid);
    expect(ofBackend.controllingTerminal === 0).toBe(!hasTerminals());
    expect(ofServer.controllingTerminal).toBe(0);

    const held = openFiles(pid);
    expect(held).toContain(`${elsewhere}/held-open`);
    // What the test run itself was started with is nobody's doing here.
    const ofTestRun = new Set(openFiles(process.pid));
    const ofBackendAlone = new Set(held.filter((file) => !ofTestRun.has(file)));
    const open = openFiles(server.pid);
    // What the kernel gives every process under the same name.
    const shared = open.filter(
      (file) => ofBackendAlone.has(file) && !/^(\/dev\/null$|anon_inode:)/.test(file),
    );
    expect(shared).toEqual([]);
    expect(open.filter((file) => /^\/dev\/(?!null$|urandom$)/.test(file))).toEqual([]);
    expect(open.filter((file) => file.startsWith('/') && !file.startsWith('/dev/'))).toEqual([
      `${home}/logs/control-server.log`,
    ]);

    expect(ofBackend.workingDirectory).toBe(elsewhere);
    expect(ofServer.workingDirectory).toBe(home);

    expect(ofServer.blocked).toBe(0n);
    // Node's own, so that a reader that has gone, or a file that is too long, is an error and no end.
    expect(ofServer.ignored).toBe(bit('SIGPIPE') | SIGXFSZ);
    const handled = bit('SIGHUP') | bit('SIGTERM') | bit('SIGINT');
    expect(ofServer.caught & handled).toBe(handled);

    const settings = Object.values(SETTINGS).map(({ environment }) => environment);
    const allowed = new Set<string>([...PASSED_ON, 'LC_TIME', ...settings]);
    const names = Object.keys(environmentOf(server.pid));
    expect(names.filter((name) => !allowed.has(name) && !name.startsWith('LC_'))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['PATH', 'LC_TIME']));
    expect(JSON.stringify(environmentOf(pid))).toContain(CANARY);
    expect(JSON.stringify(environmentOf(agent.pid))).not.toContain(CANARY);
  });

  it('has of its backend the umask, the niceness, the OOM score adjustment and the limits', () => {
    const ofBackend = kernelView(running.pid);
    expect(ofBackend).toMatchObject({
      umask: '0027',
      nice: NICE,
      oomScoreAdjustment: String(OOM_SCORE_ADJUSTMENT),
    });
    expect(ofBackend.limits).toMatch(/^Max core file size +0 +0 /m);
    const { umask, nice, oomScoreAdjustment, limits } = ofBackend;
    expect(kernelView(running.server.pid)).toMatchObject({ umask, nice, oomScoreAdjustment, limits });
  });
});
