import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { runProgram, testHome } from '@holdfast/testbeds';

it('the examples of the README run and print what they say', async () => {
  const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8');
  const [ledger = '', prompts = ''] = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  await using home = await testHome('readme');
  const run = async (name: string, code: string): Promise<string> => {
    const moved = code
      .replaceAll('/var/lib/my-orchestrator', home.root)
      .replaceAll("'@holdfast/turn-ledger'", `'${join(import.meta.dirname, '../src/index.ts')}'`);
    await writeFile(home.path(name), moved);
    const program = [process.execPath, '--conditions=@holdfast/source', home.path(name)];
    const { stdout, stderr, exitCode } = await runProgram(program, { timeoutMs: 60_000 });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
  const printed = await run('ledger.mts', ledger);
  expect(printed).toContain("turnState: 'completed'");
  expect(printed).toMatch(/^1 turn_ended$/m);
  expect(await run('prompts.mts', prompts)).toBe('completed\nended\nready for the next prompt\n');
});
