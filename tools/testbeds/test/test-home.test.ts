import { spawn } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, startProgram, testHome } from '@holdfast/testbeds';

/** Starts a process that nobody will end. */
async function leak(options: {
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
}): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', ...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: 'ignore',
  });
  await new Promise((resolve) => {
    child.once('spawn', resolve);
  });
  child.unref();
  return child.pid ?? 0;
}

describe('a test home', () => {
  it('is a folder of its own, gone when left', async () => {
    let root: string;
    {
      await using home = await testHome('suite');
      await using other = await testHome('suite');
      root = home.root;
      expect(other.root).not.toBe(root);
      expect(root.startsWith(join(realpathSync(tmpdir()), 'holdfast-test-suite-'))).toBe(true);
      expect(home.path('a', 'b')).toBe(join(root, 'a', 'b'));
      expect(statSync(await home.folder('a', 'b')).isDirectory()).toBe(true);
    }
    expect(existsSync(root)).toBe(false);
  });

  it.each([
    ['command line', (root: string) => ({ args: [`${root}/socket`] })],
    ['working directory', (root: string) => ({ cwd: root })],
    ['environment', (root: string) => ({ env: { WHERE: root } })],
  ])('kills and reports a process that has it in its %s', async (_, having) => {
    const home = await testHome();
    const pid = await leak(having(home.root));
    const error: unknown = await home[Symbol.asyncDispose]().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'leaked_processes', processes: [{ pid }] });
    expect(String(error)).toContain(`${String(pid)}: ${process.execPath} -e setInterval`);
    expect(processIsAlive(pid)).toBe(false);
    expect(existsSync(home.root)).toBe(false);
  });

  it('waits for a process that is about to end', async () => {
    const home = await testHome();
    await using program = await startProgram([
      process.execPath,
      '-e',
      'setTimeout(() => {}, 700)',
      home.root,
    ]);
    await home[Symbol.asyncDispose]();
    expect(await program.exited).toEqual({ exitCode: 0, signal: null });
  });

  it('leaves the processes of others alone', async () => {
    await using other = await testHome();
    await using program = await startProgram([
      process.execPath,
      '-e',
      'setInterval(() => {}, 1000)',
      other.root,
    ]);
    {
      await using _ = await testHome();
    }
    expect(processIsAlive(program.pid)).toBe(true);
  });
});
