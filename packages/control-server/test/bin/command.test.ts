import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, runProgram, startProgram, testHome, until, waitForExit } from '@holdfast/testbeds';
import { z } from 'zod';
import { EXIT_CODES, controlServerCommand } from '../../src/index.ts';
import { acceleratedCommand, commandServer, failingCommand } from '../support/command-server.ts';
import { InstanceOf, NONCE, isType, readUntil } from '../support/owned-server.ts';

const run = async (
  args: readonly string[],
  env: Record<string, string> = {},
  input = `{"nonce":"${NONCE}"}\n`,
) =>
  await runProgram([...controlServerCommand(), ...args], {
    env: { NODE_OPTIONS: undefined, ...env },
    input,
    timeoutMs: 60_000,
  });

describe('the command', () => {
  it('shows its help and its version', async () => {
    const help = await run(['--help']);
    expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('--bootstrap') });
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  const REFUSED: ReadonlyArray<readonly [string, string[], Record<string, string>, RegExp]> = [
    ['no home', [], {}, /--home DIR is required/],
    ['an unknown argument', ['--home', 'H', '--tpyo'], {}, /--tpyo/],
    ['a port out of range', ['--home', 'H', '--port', '65536'], {}, /--port 65536 .* 0 to 65535/],
    [
      'a lifetime it does not know',
      ['--home', 'H', '--lifetime', 'long'],
      {},
      /--lifetime long .*detached or bound/,
    ],
    [
      'a bootstrap it does not know',
      ['--home', 'H', '--bootstrap', 'argv'],
      {},
      /--bootstrap argv .*stdin or file:PATH/,
    ],
    [
      'a bootstrap file that is missing',
      ['--home', 'H', '--bootstrap', 'file:/no/such'],
      {},
      /\/no\/such .*ENOENT/,
    ],
    ['a period that is none', ['--home', 'H'], { KANDEV_ACP_UNOWNED_PERIOD: '10' }, /unownedPeriod = "10"/],
  ];
  it.each(REFUSED)('does not start with %s', async (_name, args, env, message) => {
    await using home = await testHome();
    const result = await run(
      args.map((arg) => (arg === 'H' ? home.path('home') : arg)),
      env,
    );
    expect(result).toMatchObject({ exitCode: EXIT_CODES.notAccepted, stdout: '' });
    expect(result.stderr).toMatch(message);
    expect(() => readFileSync(home.path('home', 'logs', 'control-server.log'))).toThrow('ENOENT');
  });

  it('does not start without a nonce, and tells nothing of what it read instead', async () => {
    await using home = await testHome();
    const result = await run(['--home', home.root], {}, '{"nonsense":"confidential"}\n');
    expect(result).toMatchObject({ exitCode: EXIT_CODES.notAccepted, stdout: '' });
    expect(result.stderr).toContain('{"nonce": "..."}');
    expect(result.stderr).not.toContain('confidential');
  });

  it('does not start with a home that is a file, nor where it cannot be made', async () => {
    await using home = await testHome();
    await writeFile(home.path('file'), '');
    for (const path of [home.path('file'), home.path('file', 'below'), '/proc/nowhere']) {
      const result = await run(['--home', path]);
      expect(result).toMatchObject({ exitCode: EXIT_CODES.notAccepted, stdout: '' });
      expect(result.stderr).toContain(path);
    }
  });

  it('does not start when its port is taken or its log cannot be written', async () => {
    await using home = await testHome();
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const address = squatter.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const taken = await run(['--home', home.root, '--port', String(port)]);
    expect(taken).toMatchObject({
      exitCode: EXIT_CODES.cannotListen,
      stderr: expect.stringContaining('somebody listens there, at 127.0.0.1'),
    });
    squatter.close();
    const unwritable = await run(['--home', home.root, '--log-file', '/proc/no.log']);
    expect(unwritable).toMatchObject({
      exitCode: EXIT_CODES.cannotLog,
      stderr: expect.stringContaining('/proc/no.log'),
    });
  });

  it('takes the nonce from a file', async () => {
    await using home = await testHome();
    await writeFile(home.path('nonce'), `{"nonce":"${NONCE}"}\n`);
    await chmod(home.path('nonce'), 0o600);
    await using server = await commandServer(home, { args: ['--bootstrap', `file:${home.path('nonce')}`] });
    await server.client.call('shutdown', {});
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
  });
});

describe('a detached server', () => {
  it('lets go of its standard streams for good and logs to its file alone', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    for (const fd of [0, 1, 2]) {
      expect(readlinkSync(`/proc/${String(server.pid)}/fd/${String(fd)}`)).toBe('/dev/null');
    }
    const instance = await InstanceOf.create(
      { client: server.client, home },
      { environment: { TOKEN: 'env-secret' } },
    );
    await instance.start();
    const { credential } = await server.client.call('rotate', {});
    await server.client.withCredential(credential).call('shutdown', {});
    await server.program.exited;
    expect(server.program.lines()).toHaveLength(1);
    expect(server.program.lines('stderr')).toEqual([]);
    const log = await readFile(home.path('logs', 'control-server.log'), 'utf8');
    expect(log).toContain('the server listens');
    for (const secret of [NONCE, credential, 'env-secret']) expect(log).not.toContain(secret);
  });

  it('keeps nothing open that its parent had open', async () => {
    await using home = await testHome();
    const held = home.path('held-open');
    const [program, ...args] = [...controlServerCommand(), '--home', home.root];
    // Node passes on only what lies beyond the descriptors that it knows of.
    const parent = `
      const { openSync } = require('node:fs');
      const stdio = ['pipe', 'inherit', 'inherit', ...Array(37).fill('ignore'), openSync(${JSON.stringify(held)}, 'w')];
      const child = require('node:child_process').spawn(${JSON.stringify(program)}, ${JSON.stringify(args)}, { stdio });
      child.stdin.end('{"nonce":"n"}\\n');`;
    await using launcher = await startProgram([process.execPath, '-e', parent]);
    const line: unknown = JSON.parse(await launcher.nextLine('serverId', { withinMs: 60_000 }));
    const { pid } = z.object({ pid: z.number() }).parse(line);
    const targets = (): string[] =>
      readdirSync(`/proc/${String(pid)}/fd`).map((fd) => {
        try {
          return readlinkSync(`/proc/${String(pid)}/fd/${fd}`);
        } catch {
          return 'closed meanwhile';
        }
      });
    expect(existsSync(held)).toBe(true);
    expect(targets()).not.toContain(held);
    // It lets go of its standard streams right after the line.
    await until(() => targets().includes('/dev/null'), {
      reason: 'the server to let go of its standard streams',
      withinMs: 60_000,
    });
    process.kill(pid, 'SIGTERM');
    await waitForExit(pid, { withinMs: 60_000, reason: 'the server to stop' });
  });

  it('goes on, agent and all, after SIGHUP and the end of its parent’s pipes', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    await instance.start();
    server.program.endInput();
    server.program.kill('SIGHUP');
    server.program.kill('SIGPIPE');
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'say', text: 'still here' });
    await readUntil(stream, isType('turn_ended'));
    await server.client.call('shutdown', {});
    expect(await server.program.exited).toEqual({ exitCode: 0, signal: null });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('stops in order at %s', async (signal) => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    const { agentPid } = await instance.start();
    server.program.kill(signal);
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
    expect(processIsAlive(agentPid)).toBe(false);
  });

  it('stops everything and ends for any acceptable credential, without an adoption [OWNERSHIP-002.9]', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    const { agentPid } = await instance.start();
    await server.client.call('rotate', {});
    expect(await server.client.call('shutdown', {})).toEqual({ stopping: true, instances: 1 });
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
    expect(processIsAlive(agentPid)).toBe(false);
  });

  it('stops instances and agents and ends when nobody owns it for the period [OWNERSHIP-003.1]', async () => {
    await using home = await testHome();
    await using server = await commandServer(home, {
      command: acceleratedCommand(30),
      env: { KANDEV_ACP_UNOWNED_PERIOD: '1m', KANDEV_ACP_IDLE_TIMEOUT: '0' },
    });
    const { client } = server;
    // An agent may take longer to start than the period has seconds.
    const claims = setInterval(() => void client.call('claim', {}).catch(() => undefined), 100);
    const instance = await InstanceOf.create({ client, home });
    const { agentPid } = await instance.start();
    const stream = await instance.attach(0);
    await instance.prompt(1, { step: 'silence' });
    clearInterval(claims);
    const claimedAt = performance.now();
    await client.call('claim', {});
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.unowned, signal: null });
    expect(performance.now() - claimedAt).toBeGreaterThanOrEqual(60_000 / 30);
    // On this clock it was killed after a moment, and waited for no longer than another one.
    await waitForExit(agentPid, { withinMs: 60_000, reason: 'its server has stopped it' });
    expect((await stream.ended).code).toBe(4005);
  });
});

describe('a server that is stopped for a while', () => {
  it('has not lost its owner when it goes on, and is unowned a period later [OWNERSHIP-003.1] [OWNERSHIP-003.3]', async () => {
    await using home = await testHome();
    const factor = 30;
    await using server = await commandServer(home, {
      command: acceleratedCommand(factor),
      env: { KANDEV_ACP_UNOWNED_PERIOD: '1m', KANDEV_ACP_IDLE_TIMEOUT: '0' },
    });
    await server.client.call('claim', {});
    server.program.kill('SIGSTOP');
    await until(() => readFileSync(`/proc/${String(server.pid)}/stat`, 'utf8').includes(') T '), {
      reason: 'the server to be stopped',
      withinMs: 60_000,
    });
    const stoppedAt = performance.now();
    // The system takes the connection; the server finds it when it goes on, together with timers that are long overdue.
    const claim = server.client.call('claim', {});
    await until(() => performance.now() - stoppedAt > (2 * 60_000) / factor, {
      reason: 'two periods to pass',
      withinMs: 60_000,
    });
    server.program.kill('SIGCONT');
    expect(await claim).toMatchObject({ expiresInMs: expect.any(Number) });
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.unowned, signal: null });
    expect(await readFile(home.path('logs', 'control-server.log'), 'utf8')).toContain(
      'did not run for a while',
    );
  });
});

describe('a server with a bug', () => {
  it('stops its agents, says where it was, and ends', async () => {
    await using home = await testHome();
    await using server = await commandServer(home, { command: failingCommand() });
    const instance = await InstanceOf.create({ client: server.client, home });
    const { agentPid } = await instance.start();
    server.program.kill('SIGUSR2');
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.internal, signal: null });
    expect(processIsAlive(agentPid)).toBe(false);
    const log = await readFile(home.path('logs', 'control-server.log'), 'utf8');
    expect(log).toContain('failing-server.ts');
    expect(log).not.toContain('may hold anything');
  });
});

describe('a bound server', () => {
  it('ends with its parent, and its agents with it', async () => {
    await using home = await testHome();
    await using server = await commandServer(home, { args: ['--lifetime', 'bound'] });
    const instance = await InstanceOf.create({ client: server.client, home });
    const { agentPid } = await instance.start();
    server.program.kill('SIGINT');
    expect((await instance.describe()).status).toBe('ready');
    server.program.endInput();
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
    await waitForExit(agentPid, { withinMs: 60_000, reason: 'its server has ended' });
  });
});
