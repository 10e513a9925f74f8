import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { chmod, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { runProgram, testHome, type TestHome } from '@holdfast/testbeds';
import { executionKey } from '../../src/npm-runtime/execution-key.ts';
import { removeExecutionTree, type RemovalOptions } from '../../src/npm-runtime/execution-tree.ts';

const KEY = executionKey('@acme/agent@1.0.0');
const refused = expect.objectContaining({ code: 'unsafe_cache_root' });
const never = (): AbortSignal => new AbortController().signal;
const nextId = (): string => randomBytes(16).toString('hex');

const remove = async (root: string, options: Partial<RemovalOptions> = {}) =>
  await removeExecutionTree(root, KEY, { signal: never(), deadline: never(), nextId, ...options });

/** All that is below a folder: kinds, modes, contents. */
function snapshot(root: string): Record<string, string> {
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(found.map((path) => [path, describeEntry(join(root, path))]));
}

function describeEntry(path: string): string {
  const entry = lstatSync(path);
  const mode = (entry.mode & 0o7777).toString(8);
  if (entry.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  return entry.isFile() ? `file ${mode} ${readFileSync(path, 'utf8')}` : `other ${mode}`;
}

/** A cache as npm leaves it, with neighbours of the tree that look much like it. */
async function cacheOf(home: TestHome, ...below: readonly string[]): Promise<string> {
  const cache = await home.folder('cache', ...below);
  const files = {
    '_cacache/index-v5/aa/bb': 'index',
    '_logs/2026-debug-0.log': 'log',
    _update_notifier: '',
    [`_npx/${KEY}x/node_modules/agent/cli.js`]: 'longer name',
    [`_npx/${KEY.slice(0, 15)}/node_modules/agent/cli.js`]: 'shorter name',
    [`_npx/${executionKey('@acme/agent@1.0.1')}/package.json`]: 'another version',
    [`_npx/.removed-by-holdfast-${KEY}/package.json`]: 'not ours',
    [`_npx/file`]: 'a file',
    [`${KEY}/package.json`]: 'beside _npx',
  };
  for (const [path, text] of Object.entries(files)) await write(join(cache, path), text);
  await symlink(home.path('elsewhere'), join(cache, '_npx', `.removed-by-holdfast-${KEY}-${'a'.repeat(32)}`));
  return cache;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
}

async function plant(cache: string): Promise<string> {
  const tree = join(cache, '_npx', KEY);
  await write(join(tree, 'package.json'), '{}');
  await write(join(tree, 'node_modules', '@acme', 'agent', 'cli.js'), '#!');
  await write(join(tree, 'node_modules', '.package-lock.json'), '{}');
  await mkdir(join(tree, 'node_modules', '.bin'));
  await symlink('../@acme/agent/cli.js', join(tree, 'node_modules', '.bin', 'agent'));
  return tree;
}

/** Whether this user may have mounts of its own. */
const canMount = await runProgram(['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'], {
  timeoutMs: 60_000,
}).then(
  ({ exitCode }) => exitCode === 0,
  () => false,
);

/** Removes the tree from a cache, in a process whose mounts are its own; gives what it came to in words. */
async function removeWithMounts(cache: string, mounts: string): Promise<string> {
  const program = fileURLToPath(new URL('../fixtures/remove-tree.ts', import.meta.url));
  const removal = [process.execPath, '--conditions=@holdfast/source', program, cache, KEY];
  const { stdout } = await runProgram(
    ['unshare', '--mount', 'sh', '-ec', `${mounts}\n"$0" "$@"`, ...removal],
    { cwd: cache, timeoutMs: 60_000 },
  );
  return stdout;
}

(canMount ? describe : describe.skip)('the removal where other file systems are mounted', () => {
  it('leaves alone what is on another one', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const tree = await plant(cache);
    const mounted = join(tree, 'node_modules', 'mounted');
    await mkdir(mounted);
    const mounts = `mount -t tmpfs tmpfs ${mounted}
      touch ${mounted}/precious
      trap 'ls _npx/.removed-by-holdfast-${KEY}-*/node_modules/mounted' EXIT`;
    expect(await removeWithMounts(cache, mounts)).toBe('{"removed":true,"left":["elsewhere"]}precious\n');
    expect(readdirSync(join(cache, '_npx'))).not.toContain(KEY);
  });

  it('refuses a tree that is a mount itself, and a cache that is only read', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const tree = await plant(cache);
    const before = snapshot(home.root);
    expect(await removeWithMounts(cache, `mount -t tmpfs tmpfs ${tree}`)).toMatch(
      /cannot be moved \(EBUSY\)/,
    );
    const readOnly = `mount --bind ${cache} ${cache}\nmount -o remount,ro,bind ${cache}`;
    expect(await removeWithMounts(cache, readOnly)).toMatch(/cannot be moved \(EROFS\)/);
    expect(snapshot(home.root)).toEqual(before);
  });
});

describe('the removal of an execution tree', () => {
  it.each([[[]], [['with spaces', 'and\nline ends']]])(
    'removes that tree and nothing else, below %j [RUNTIME-002.2] [RUNTIME-002.3]',
    async (below) => {
      await using home = await testHome('npm-tree');
      const cache = await cacheOf(home, ...below);
      await write(home.path('elsewhere', 'precious'), 'kept');
      const before = snapshot(home.root);
      await plant(cache);
      expect(await remove(cache)).toEqual({ removed: true, left: [] });
      expect(snapshot(home.root)).toEqual(before);
      expect(await remove(cache)).toEqual({ removed: false, left: [] });
      expect(snapshot(home.root)).toEqual(before);
    },
  );

  it('finds nothing to remove where there is no _npx, or no tree', async () => {
    await using home = await testHome('npm-tree');
    expect(await remove(await home.folder('cache'))).toEqual({ removed: false, left: [] });
    expect(await remove(home.path('missing'))).toEqual({ removed: false, left: [] });
  });

  it('refuses when the root has become a symbolic link since it was looked at [RUNTIME-002.4]', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    await plant(cache);
    await rename(cache, home.path('moved'));
    await symlink(home.path('moved'), cache);
    const before = snapshot(home.root);
    await expect(remove(cache)).rejects.toThrow(refused);
    expect(snapshot(home.root)).toEqual(before);
  });

  it.each(['_npx', 'the tree'])('refuses when %s is a symbolic link [RUNTIME-002.4]', async (what) => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    await plant(home.path('elsewhere'));
    if (what === '_npx') {
      await rename(join(cache, '_npx'), join(cache, 'before'));
      await symlink(home.path('elsewhere', '_npx'), join(cache, '_npx'));
    } else {
      await symlink(home.path('elsewhere', '_npx', KEY), join(cache, '_npx', KEY));
    }
    const before = snapshot(home.root);
    await expect(remove(cache)).rejects.toThrow(refused);
    expect(snapshot(home.root)).toEqual(before);
  });

  it.each(['_npx', `_npx/${KEY}`])('refuses when %s is a file [RUNTIME-002.4]', async (path) => {
    await using home = await testHome('npm-tree');
    const cache = await home.folder('cache');
    await write(join(cache, path), 'a file');
    await expect(remove(cache)).rejects.toThrow(refused);
    expect(readFileSync(join(cache, path), 'utf8')).toBe('a file');
  });

  it('unlinks what is no directory and never follows it [RUNTIME-002.4]', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    await write(home.path('elsewhere', 'precious', 'file'), 'kept');
    const before = snapshot(home.root);
    const tree = await plant(cache);
    await symlink(home.path('elsewhere'), join(tree, 'absolute'));
    await symlink('../../../elsewhere/precious', join(tree, 'relative'));
    await symlink('/', join(tree, 'root'));
    await symlink(tree, join(tree, 'itself'));
    await symlink('nowhere', join(tree, 'dangling'));
    await runProgram(['mkfifo', join(tree, 'fifo')], { timeoutMs: 60_000 });
    await write(join(tree, 'odd', ' name\nwith line end', 'x'), '');
    expect(await remove(cache)).toEqual({ removed: true, left: [] });
    expect(snapshot(home.root)).toEqual(before);
  });

  it('removes directories that nobody may enter', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const before = snapshot(home.root);
    const tree = await plant(cache);
    await chmod(join(tree, 'node_modules', '@acme'), 0o000);
    await chmod(join(tree, 'node_modules'), 0o500);
    expect(await remove(cache)).toEqual({ removed: true, left: [] });
    expect(snapshot(home.root)).toEqual(before);
  });

  it('removes a tree that somebody still writes into', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const before = snapshot(home.root);
    const tree = await plant(cache);
    for (let n = 0; n < 300; n += 1) await write(join(tree, 'node_modules', `p${String(n)}`, 'x'), '');
    // The writer keeps the directory as its own working directory, so it goes on where the tree was moved.
    const writer = [
      '-c',
      'for n in 1 2 3 4 5 6 7 8 9; do : > late$n 2>/dev/null; mkdir -p d$n/e 2>/dev/null; done',
    ];
    const removal = remove(cache);
    execFileSync('sh', writer, { cwd: tree, stdio: 'ignore' });
    expect(await removal).toMatchObject({ removed: true });
    await remove(cache);
    expect(snapshot(home.root)).toEqual(before);
  });

  it('follows no link that takes the place of a directory meanwhile [RUNTIME-002.4]', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const tree = await plant(cache);
    const packages = Array.from({ length: 20 }, (_, n) => `p${String(n)}`);
    const files = Array.from({ length: 30 }, (_, n) => join('lib', `${String(n)}.js`));
    for (const name of packages) for (const file of files) await write(join(tree, name, file), '');
    for (const file of files) await write(home.path('elsewhere', file), 'kept');
    const elsewhere = snapshot(home.path('elsewhere'));
    const aside = join(cache, '_npx', `.removed-by-holdfast-${KEY}-${'b'.repeat(32)}`);
    const removal = remove(cache, { nextId: () => 'b'.repeat(32) });
    const left = (): string[] => packages.filter((name) => existsSync(join(aside, name)));
    // By then all of them are listed as directories.
    while (!existsSync(aside) || left().length === packages.length) await setImmediate();
    const swapped = left();
    expect(swapped.length).toBeGreaterThan(2);
    for (const name of swapped) {
      renameSync(join(aside, name), home.path(`moved-${name}`));
      symlinkSync(home.path('elsewhere'), join(aside, name));
    }
    expect(await removal).toMatchObject({ removed: true });
    expect(snapshot(home.path('elsewhere'))).toEqual(elsewhere);
  });

  it('may happen twice at once', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const before = snapshot(home.root);
    await plant(cache);
    const both = await Promise.all([remove(cache), remove(cache), remove(cache)]);
    expect(both.filter(({ removed }) => removed)).toHaveLength(1);
    expect(both.flatMap(({ left }) => left)).toEqual([]);
    expect(snapshot(home.root)).toEqual(before);
  });

  it('that is given up touches nothing before the tree is set aside, and leaves the rest to the next', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const before = snapshot(home.root);
    await plant(cache);
    const planted = snapshot(home.root);
    await expect(remove(cache, { signal: AbortSignal.abort('given up') })).rejects.toBe('given up');
    expect(snapshot(home.root)).toEqual(planted);

    const stop = new AbortController();
    const setAside = (): string => {
      stop.abort('given up');
      return nextId();
    };
    await expect(remove(cache, { signal: stop.signal, nextId: setAside })).rejects.toBe('given up');
    const names = await readdir(join(cache, '_npx'));
    expect(names).not.toContain(KEY);
    expect(names.filter((name) => name.startsWith(`.removed-by-holdfast-${KEY}-`))).toHaveLength(2);
    expect(await remove(cache)).toEqual({ removed: false, left: [] });
    expect(snapshot(home.root)).toEqual(before);
  });

  it('that takes too long is done all the same: the tree is out of the way', async () => {
    await using home = await testHome('npm-tree');
    const cache = await cacheOf(home);
    const before = snapshot(home.root);
    await plant(cache);
    expect(await remove(cache, { deadline: AbortSignal.abort() })).toEqual({
      removed: true,
      left: ['deadline'],
    });
    expect(await readdir(join(cache, '_npx'))).not.toContain(KEY);
    await remove(cache);
    expect(snapshot(home.root)).toEqual(before);
  });
});
