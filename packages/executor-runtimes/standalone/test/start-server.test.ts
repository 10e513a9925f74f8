import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { controlServerCommand } from '@holdfast/control-server';
import { listProcesses, testHome, type TestHome } from '@holdfast/testbeds';
import { parseReadyLine } from '../src/ready-line.ts';
import { startServer, type StartServerOptions } from '../src/start-server.ts';

let home: TestHome;

beforeEach(async () => {
  home = await testHome('start');
});

afterEach(async () => {
  await home[Symbol.asyncDispose]();
});

/** Options for a program that stands in the place of a control server. */
function instead(program: string): StartServerOptions {
  return {
    command: [process.execPath, '-e', program, '--'],
    home: home.root,
    lifetime: 'detached',
    environment: {},
    readyTimeoutMs: 20_000,
    signal: new AbortController().signal,
  };
}

function running(): number {
  return listProcesses().filter(({ commandLine }) => commandLine.includes(home.root)).length;
}

describe('startServer', () => {
  it('says how a server ended that did not get as far as listening, and what it wrote', async () => {
    const error: unknown = await startServer(
      instead('console.error("x".repeat(100_000) + "port taken"); process.exitCode = 3'),
    ).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code: 'server_start_failed',
      exitCode: 3,
      stderr: expect.stringMatching(/port taken\n$/),
    });
    expect(String(error)).toContain('it ended with code 3');
    expect(String(error).length).toBeLessThan(10_000);
  });

  it('does not take another first line for the ready line, and ends the program', async () => {
    await expect(startServer(instead('console.log("hello"); setInterval(() => {}, 1000)'))).rejects.toThrow(
      'not the ready line',
    );
    expect(running()).toBe(0);
  });

  it('gives up a server that does not listen in time, and ends it', async () => {
    await expect(
      startServer({
        ...instead(''),
        // A shell is there long before that.
        command: ['sh', '-c', 'echo thinking >&2; while sleep 0.2; do :; done'],
        readyTimeoutMs: 3000,
      }),
    ).rejects.toMatchObject({
      exitCode: null,
      stderr: 'thinking\n',
      message: expect.stringContaining('within 3000 ms'),
    });
    expect(running()).toBe(0);
  });

  it('says that there is no such program', async () => {
    await expect(startServer({ ...instead(''), command: [home.path('missing')] })).rejects.toMatchObject({
      code: 'server_start_failed',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('gives the nonce to the standard input alone', async () => {
    const { fresh, end } = await startServer({ ...instead(''), command: controlServerCommand() });
    const server = listProcesses().find(({ commandLine }) => commandLine.includes(home.root));
    expect(server?.commandLine).toContain('--bootstrap stdin');
    expect(server?.commandLine).not.toContain(fresh.nonce);
    expect(fresh.route).toBe('direct');
    await end();
    await end();
    expect(running()).toBe(0);
  });
});

describe('parseReadyLine', () => {
  it('takes what is the ready line of a server', () => {
    expect(parseReadyLine('{"serverId":"abc","endpoint":"http://127.0.0.1:80","pid":1,"more":true}')).toEqual(
      {
        serverId: 'abc',
        endpoint: 'http://127.0.0.1:80',
      },
    );
  });

  it.each([
    '',
    'null',
    '[]',
    '{"serverId":"abc"}',
    '{"serverId":"a b","endpoint":"http://127.0.0.1:80"}',
    '{"serverId":"abc","endpoint":"file:///etc"}',
    '{"serverId":"abc","endpoint":"127.0.0.1"}',
  ])('takes %p for none', (text) => {
    expect(parseReadyLine(text)).toBeUndefined();
  });
});
