import { readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, runProgram, testHome, until } from '@holdfast/testbeds';
import { EXIT_CODES, controlServerCommand } from '../../src/index.ts';
import { LOG_BOUNDS } from '../../src/diagnostics/bounded-log-file.ts';
import { commandServer, type CommandServer } from '../support/command-server.ts';
import { InstanceOf, isType, readUntil } from '../support/owned-server.ts';

/** Rotates until the server had enough to say. */
async function makeItTalk(server: CommandServer, lines: number): Promise<CommandServer['client']> {
  let { client } = server;
  for (let n = 0; n < lines; n += 1) {
    client = client.withCredential((await client.call('rotate', {})).credential);
  }
  return client;
}

async function expectTurn(instance: InstanceOf, promptGeneration: number): Promise<void> {
  await using stream = await instance.attach(0);
  await instance.prompt(promptGeneration, { step: 'say', text: 'still here' });
  await readUntil(stream, isType('turn_ended'));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the log of a server', () => {
  it('on a disk that is full ends neither the server nor an agent, and goes on when there is room [SURVIVAL-001.3]', async () => {
    await using home = await testHome();
    const log = home.path('logs', 'control-server.log');
    await using server = await commandServer(home, {
      command: ['sh', '-c', 'ulimit -S -f 4; exec "$@"', 'sh', ...controlServerCommand()],
    });
    const instance = await InstanceOf.create({ client: server.client, home }, { instanceId: 'i-1' });
    const { agentPid } = await instance.start();
    const client = await makeItTalk(server, 60);
    // The shell's unit is 512 bytes or 1024.
    expect([2048, 4096]).toContain(statSync(log).size);
    await expectTurn(new InstanceOf(client, 'i-1'), 1);
    expect(processIsAlive(agentPid)).toBe(true);

    await runProgram(['prlimit', '--pid', String(server.pid), '--fsize=unlimited:'], { timeoutMs: 60_000 });
    await client.call('shutdown', {});
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
    // What was cut off where the room ended stands on a line of its own.
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => !isJson(line)).length).toBeLessThanOrEqual(1);
    for (const said of ['the server stops', 'the server has stopped']) {
      expect(isJson(lines.find((line) => line.includes(said)) ?? '')).toBe(true);
    }
  });

  it('on a device that takes nothing ends neither the server nor an agent', async () => {
    await using home = await testHome();
    await using server = await commandServer(home, { args: ['--log-file', '/dev/full'] });
    const instance = await InstanceOf.create({ client: server.client, home });
    await instance.start();
    await expectTurn(instance, 1);
    await server.client.call('shutdown', {});
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
  });

  it('goes on when its folder is taken away', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    rmSync(home.path('logs'), { recursive: true });
    const client = await makeItTalk(server, 3);
    await client.call('shutdown', {});
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
  });

  it('keeps to its bounds from the start on, with nobody attached [SURVIVAL-001.3]', async () => {
    await using home = await testHome();
    const folder = await home.folder('logs');
    const log = home.path('logs', 'control-server.log');
    writeFileSync(log, 'x'.repeat(LOG_BOUNDS.maxBytes));
    for (const n of [1, 2, 3, 4, 5, 6]) writeFileSync(`${log}.${String(n)}`, String(n));
    const old = (Date.now() - LOG_BOUNDS.maxAgeMs - 60_000) / 1000;
    utimesSync(`${log}.3`, old, old);
    await using server = await commandServer(home);
    server.program.endInput();
    server.program.kill('SIGHUP');
    await until(() => readFileSync(log, 'utf8').includes('SIGHUP was ignored'), {
      reason: 'the signal to be logged',
      withinMs: 60_000,
    });
    await server.client.call('shutdown', {});
    await server.program.exited;
    // What was .3 became .4 and was too old; what was .5 had no place any more.
    const names = ['', '.1', '.2', '.3', '.5'].map((suffix) => `control-server.log${suffix}`);
    expect(readdirSync(folder).toSorted()).toEqual(names);
    expect(statSync(`${log}.1`).size).toBe(LOG_BOUNDS.maxBytes);
    expect(readFileSync(log, 'utf8')).toMatch(
      /the server listens.*SIGHUP was ignored.*the server has stopped/s,
    );
  });

  it('has the bounds that the manual says', () => {
    expect(LOG_BOUNDS).toEqual({ maxBytes: 10_485_760, backups: 5, maxAgeMs: 1_209_600_000 });
  });
});
