import { readFileSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, runProgram, testHome, until } from '@holdfast/testbeds';
import { EXIT_CODES } from '../../src/index.ts';
import { commandServer, type CommandServer } from '../support/command-server.ts';
import { InstanceOf, isType, readUntil, textsOf } from '../support/owned-server.ts';

const SLEEP = ['sleep', '600'];

const descriptorsOf = (pid: number): number[] => readdirSync(`/proc/${String(pid)}/fd`).map(Number);

/** The numbers below the highest that a server has which are free. */
function gapsOf(pid: number): number {
  const taken = descriptorsOf(pid);
  return Math.max(...taken) + 1 - taken.length;
}

/** Takes all that a server has not taken; `more` are left to it. */
async function leaveNoDescriptor(server: CommandServer, more = 0): Promise<readonly Socket[]> {
  const { pid } = server;
  const sockets: Socket[] = [];
  await until(
    async () => {
      sockets.push(...(await halfRequests(server, Math.min(1, gapsOf(pid)))));
      return gapsOf(pid) === 0;
    },
    { reason: 'the server to have every number up to its highest', withinMs: 60_000 },
  );
  await setLimit(pid, Math.max(...descriptorsOf(pid)) + 1 + more);
  return sockets;
}

async function setLimit(pid: number, descriptors: number): Promise<void> {
  const command = ['prlimit', '--pid', String(pid), `--nofile=${String(descriptors)}:`];
  expect(await runProgram(command, { timeoutMs: 60_000 })).toMatchObject({ exitCode: 0 });
}

/** Connections to a server on which half a request is sent. */
async function halfRequests({ client }: CommandServer, count: number): Promise<Socket[]> {
  const { port, hostname } = new URL(client.endpoint);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).write('GET /api/v1/identity HTTP/1.1\r\nHost: ');
    return socket;
  });
  await until(() => sockets.every(({ connecting }) => !connecting), {
    reason: 'the system to take the connections',
    withinMs: 60_000,
  });
  return sockets;
}

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('a server that has no descriptor left', () => {
  it('leaves nothing of an agent behind all the same when it stops', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    const { agentPid } = await instance.start();
    const stream = await instance.attach(0);
    await instance.prompt(
      1,
      { step: 'child', command: SLEEP, ownSession: true },
      { step: 'child', command: ['sh', '-c', 'trap "" TERM; sleep 600 & wait'], ownSession: true },
      { step: 'say', text: 'ready' },
      { step: 'silence' },
    );
    const said = textsOf(
      await readUntil(stream, ({ event }) => textsOf([{ seq: 0, event }]).includes('ready')),
    );
    await stream.close();
    const children = said.flatMap((text) => /^child: (\d+)$/.exec(text)?.[1] ?? []).map(Number);
    expect(children).toHaveLength(2);
    await instance.untilIt('the stream to be gone', ({ attached }) => !attached);

    const sockets = await leaveNoDescriptor(server);
    process.kill(server.pid, 'SIGTERM');
    expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
    expect([agentPid, ...children].filter((pid) => processIsAlive(pid))).toEqual([]);
    for (const socket of sockets) socket.destroy();
  });

  it('starts no agent, says why, and does when there are some again', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    const sockets = await leaveNoDescriptor(server, 2);
    await expect(instance.start()).rejects.toMatchObject({
      code: 'agent_start_failed',
      message: 'The agent failed during spawn: its program cannot be run (EMFILE).',
    });
    await setLimit(server.pid, 1024);
    const { agentPid } = await instance.start();
    expect(processIsAlive(agentPid)).toBe(true);
    for (const socket of sockets) socket.destroy();
    await server.client.call('shutdown', {});
    expect(await server.program.exited).toMatchObject({ exitCode: EXIT_CODES.stopped });
  });

  it('because of a thousand requests that are never finished takes others as soon as those are gone, and its agent works on', async () => {
    await using home = await testHome();
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'waitFor', file: 'go' }, { step: 'say', text: 'still here' });
    const sockets = [...(await leaveNoDescriptor(server, 100)), ...(await halfRequests(server, 1000))];
    const refused = server.client.call('listInstances', {}, { timeoutMs: 2000 });
    await expect(refused).rejects.toMatchObject({ code: 'no_answer' });
    await runProgram(['touch', home.path('workspace', 'go')], { timeoutMs: 60_000 });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['still here']);

    for (const socket of sockets) socket.destroy();
    await until(
      async () =>
        await server.client.call('claim', {}).then(
          () => true,
          () => false,
        ),
      { reason: 'the server to take requests again', withinMs: 60_000 },
    );
    expect(readFileSync(home.path('logs', 'control-server.log'), 'utf8')).not.toContain('"level":50');
    await server.client.call('shutdown', {});
    expect(await server.program.exited).toMatchObject({ exitCode: EXIT_CODES.stopped });
  });
});
