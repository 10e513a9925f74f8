import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { descendants, processIsAlive, testHome, until, type TestHome } from '@holdfast/testbeds';
import { AcpClient } from './acp-client.ts';

let home: TestHome;
let client: AcpClient;
let session: string;

beforeEach(async () => {
  home = await testHome('scripted-agent');
  [client, session] = await AcpClient.open({ cwd: home.root });
});

afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

describe('the process', () => {
  it.each([
    [{ step: 'crash' } as const, { exitCode: 1, signal: null }],
    [{ step: 'crash', exitCode: 7 } as const, { exitCode: 7, signal: null }],
    [{ step: 'crash', signal: 'SIGKILL' } as const, { exitCode: null, signal: 'SIGKILL' }],
  ])('ends by %j after all output before it', async (step, exit) => {
    client.startPrompt(session, script({ step: 'chunks', count: 200, bytes: 1000 }, step));
    expect(await client.program.exited).toEqual(exit);
    await until(() => client.texts.length === 200, { reason: 'all chunks', withinMs: 60_000 });
  });

  it('survives SIGTERM once told so', async () => {
    await client.prompt(session, script({ step: 'ignoreSigterm' }));
    client.program.kill('SIGTERM');
    expect((await client.prompt(session, 'still here')).result).toEqual({ stopReason: 'end_turn' });
  });

  it('ends by SIGTERM otherwise, and by the end of its input', async () => {
    client.program.kill('SIGTERM');
    expect(await client.program.exited).toEqual({ exitCode: null, signal: 'SIGTERM' });
    const [second] = await AcpClient.open({ cwd: home.root });
    second.program.endInput();
    expect(await second.program.exited).toEqual({ exitCode: 0, signal: null });
  });

  it.each([
    [false, 1],
    [true, 0],
  ])('starts children that outlive it (session of their own: %s)', async (ownSession, inGroup) => {
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)', home.root];
    await client.prompt(session, script({ step: 'child', command, ownSession }));
    const pid = Number((await client.said('child: ')).slice('child: '.length));
    try {
      expect(descendants(client.program.pid)).toContain(pid);
      client.program.kill('SIGKILL');
      await client.program.exited;
      expect(processIsAlive(pid)).toBe(true);
      await client[Symbol.asyncDispose](); // kills the group
      expect(processIsAlive(pid)).toBe(inGroup === 0);
    } finally {
      if (processIsAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  });
});
