import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { runProgram, testHome } from '@holdfast/testbeds';
import { prepareNeutralDirectory } from '../../src/npm-runtime/neutral-directory.ts';

/** A test that npm runs has npm's settings in its environment. */
function withoutNpmSettings(): Record<string, undefined> {
  const names = Object.keys(process.env).filter((name) => name.toLowerCase().startsWith('npm_config_'));
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

it('makes a directory that only its owner enters', async () => {
  await using home = await testHome('npm-neutral');
  const directory = home.path('home', 'npm-runtime');
  prepareNeutralDirectory(directory);
  prepareNeutralDirectory(directory);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect(await readdir(directory, { recursive: true })).toEqual(['node_modules']);
});

it('keeps a project around it, and what was left in it, from having a say', async () => {
  await using home = await testHome('npm-neutral');
  await writeFile(home.path('.npmrc'), 'cache=/cache-of-the-project\n');
  await writeFile(home.path('package.json'), '{"name":"project","workspaces":["*","*/*"]}');
  const directory = home.path('npm-runtime');
  prepareNeutralDirectory(directory);
  await writeFile(`${directory}/package.json`, '{"name":"left"}');
  await writeFile(`${directory}/.npmrc`, 'cache=/cache-that-was-left\n');
  await mkdir(`${directory}/node_modules/agent`);
  await writeFile(`${directory}/kept`, 'npm does not read this');
  prepareNeutralDirectory(directory);
  expect((await readdir(directory, { recursive: true })).toSorted()).toEqual(['kept', 'node_modules']);
  const { stdout } = await runProgram(['npm', 'config', 'get', 'cache'], {
    cwd: directory,
    env: { ...withoutNpmSettings(), HOME: home.path('user') },
    timeoutMs: 60_000,
  });
  expect(stdout).toBe(`${home.path('user')}/.npm\n`);
});

it('touches nothing through a symbolic link', async () => {
  await using home = await testHome('npm-neutral');
  const workspace = await home.folder('workspace');
  await writeFile(`${workspace}/package.json`, '{}');
  await symlink(workspace, home.path('npm-runtime'));
  expect(() => {
    prepareNeutralDirectory(home.path('npm-runtime'));
  }).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  expect(await readdir(workspace)).toEqual(['package.json']);
});
