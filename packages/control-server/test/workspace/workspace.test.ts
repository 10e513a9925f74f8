import { execFile } from 'node:child_process';
import {
  chmod,
  link,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import { testHome, type TestHome } from '@holdfast/testbeds';
import { Workspace } from '../../src/workspace/workspace.ts';

const SLICE = { offset: 0, limit: 1000 };
const ALL_LINES = { first: 1, count: Number.MAX_SAFE_INTEGER };

/** A workspace with one root, and a secret beside it. */
async function fileSystem(): Promise<
  { home: TestHome; root: string; secret: string; workspace: Workspace } & AsyncDisposable
> {
  const home = await testHome('workspace');
  const root = await home.folder('root');
  const secret = join(await home.folder('outside'), 'secret');
  await writeFile(secret, 'secret');
  await writeFile(join(root, 'file'), 'content');
  const workspace = new Workspace(() => ({ workspacePath: root, roots: [root] }));
  return { home, root, secret, workspace, [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
}

async function textOf(workspace: Workspace, path: string): Promise<string> {
  return (await workspace.read(path, SLICE)).toString('utf8');
}

const OUTSIDE = { code: 'outside_roots' };

describe('files inside the source roots', () => {
  it('are read by a path from the workspace or an absolute one, in slices', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    expect(await textOf(workspace, 'file')).toBe('content');
    expect(await textOf(workspace, join(root, 'x/../file'))).toBe('content');
    expect((await workspace.read('file', { offset: 3, limit: 2 })).toString()).toBe('te');
    expect((await workspace.read('file', { offset: 5, limit: 10 })).toString()).toBe('nt');
    expect(await workspace.read('file', { offset: 100, limit: 10 })).toHaveLength(0);
  });

  it('are listed by name with what they are', async () => {
    await using place = await fileSystem();
    const { workspace, root, secret } = place;
    await mkdir(join(root, 'directory'));
    await symlink(secret, join(root, 'link'));
    await promisify(execFile)('mkfifo', [join(root, 'pipe')]);
    const { entries, truncated } = await workspace.list('.');
    expect(truncated).toBe(false);
    expect(entries.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'directory directory',
      'file file',
      'link symlink',
      'pipe other',
    ]);
    expect(entries[1]).toMatchObject({
      sizeBytes: 7,
      modifiedAt: (await stat(join(root, 'file'))).mtime.toISOString(),
    });
    expect((await workspace.list('directory')).entries).toEqual([]);
    await expect(workspace.list('file')).rejects.toMatchObject({ code: 'wrong_kind' });
  });

  it('are listed up to a bound, and it is said that there are more', async () => {
    await using place = await fileSystem();
    const { workspace, home, root } = place;
    const many = await home.folder('root', 'many');
    for (let number = 0; number < 10_001; number += 1)
      await link(join(root, 'file'), join(many, String(number)));
    const { entries, truncated } = await workspace.list('many');
    expect(entries).toHaveLength(10_000);
    expect(truncated).toBe(true);
  });

  it('may be reached through symbolic links that stay inside, and through a root that is one', async () => {
    await using place = await fileSystem();
    const { home, root, workspace } = place;
    await symlink(join(root, 'file'), join(root, 'link'));
    expect(await textOf(workspace, 'link')).toBe('content');
    const alias = home.path('alias');
    await symlink(root, alias);
    const aliased = new Workspace(() => ({ workspacePath: alias, roots: [alias] }));
    expect(await textOf(aliased, 'file')).toBe('content');
    expect(await textOf(aliased, join(root, 'file'))).toBe('content');
  });

  it('of several roots are all there, and those of roots that are gone are not', async () => {
    await using place = await fileSystem();
    const { home, root, secret } = place;
    const both = new Workspace(() => ({
      workspacePath: root,
      roots: [home.path('gone'), root, home.path('outside')],
    }));
    expect(await textOf(both, secret)).toBe('secret');
    await expect(both.list(home.path('gone'))).rejects.toMatchObject({ code: 'not_found' });
    await expect(both.list(home.root)).rejects.toMatchObject(OUTSIDE);
    const none = new Workspace(() => ({ workspacePath: root, roots: [] }));
    await expect(none.list('.')).rejects.toMatchObject(OUTSIDE);
  });

  it('that are huge are read in slices and by lines without being read whole', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    const huge = join(root, 'huge');
    await writeFile(huge, 'first\nsecond\nthird\n');
    await truncate(huge, 2 ** 40);
    expect((await workspace.read('huge', { offset: 2 ** 39, limit: 4 })).equals(Buffer.alloc(4))).toBe(true);
    expect(await workspace.readText('huge', { first: 2, count: 2 })).toBe('second\nthird\n');
    await expect(workspace.readText('huge', ALL_LINES)).rejects.toMatchObject({
      code: 'too_large',
      message: 'huge: more than 8388608 bytes; ask for fewer lines',
    });
  });

  it.each(['missing', 'file/below', 'missing/below', 'x'.repeat(300)])(
    'that are not there are named: %s',
    async (path) => {
      await using place = await fileSystem();
      await expect(place.workspace.read(path, SLICE)).rejects.toMatchObject({
        code: 'not_found',
        message: `${path}: nothing is there`,
      });
    },
  );

  it('that are pipes, sockets or directories are never opened for reading', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    // Opening a pipe for reading would wait for a writer for ever.
    await promisify(execFile)('mkfifo', [join(root, 'pipe')]);
    await expect(workspace.read('pipe', SLICE)).rejects.toMatchObject({ code: 'wrong_kind' });
    await expect(workspace.readText('pipe', ALL_LINES)).rejects.toMatchObject({ code: 'wrong_kind' });
    await expect(workspace.read('.', SLICE)).rejects.toMatchObject({ code: 'wrong_kind' });
    await expect(workspace.writeText('pipe', 'x')).rejects.toMatchObject({ code: 'wrong_kind' });
    await expect(workspace.writeText('.', 'x')).rejects.toBeDefined();
  });
});

describe('files outside the source roots', () => {
  it.each(['..', '../outside/secret', './x/../../outside/secret', '/etc/passwd', '/', '/proc/self/environ'])(
    'are not reached by %s',
    async (path) => {
      await using place = await fileSystem();
      const { workspace } = place;
      await expect(workspace.read(path, SLICE)).rejects.toMatchObject(OUTSIDE);
      await expect(workspace.readText(path, ALL_LINES)).rejects.toMatchObject(OUTSIDE);
      await expect(workspace.list(path)).rejects.toMatchObject(OUTSIDE);
      await expect(workspace.writeText(path, 'x')).rejects.toMatchObject(OUTSIDE);
    },
  );

  it('are not reached by a root whose name merely begins alike', async () => {
    await using place = await fileSystem();
    const { home, workspace } = place;
    await writeFile(join(await home.folder('root-2'), 'secret'), 'secret');
    await expect(workspace.read(home.path('root-2', 'secret'), SLICE)).rejects.toMatchObject(OUTSIDE);
  });

  it('are not reached through symbolic links to files or directories, however long the chain', async () => {
    await using place = await fileSystem();
    const { home, root, secret, workspace } = place;
    await symlink(secret, join(root, 'link'));
    await symlink('link', join(root, 'link-to-link'));
    await symlink(home.path('outside'), join(root, 'directory-link'));
    for (const path of ['link', 'link-to-link', 'directory-link/secret']) {
      await expect(workspace.read(path, SLICE)).rejects.toMatchObject(OUTSIDE);
      await expect(workspace.writeText(path, 'changed')).rejects.toMatchObject(OUTSIDE);
    }
    await expect(workspace.list('directory-link')).rejects.toMatchObject(OUTSIDE);
    await expect(workspace.writeText('directory-link/new/file', 'x')).rejects.toMatchObject(OUTSIDE);
    expect(await readFile(secret, 'utf8')).toBe('secret');
    expect(await readdir(home.path('outside'))).toEqual(['secret']);
  });

  it('are not reached when a directory becomes a symbolic link at any moment', async () => {
    await using place = await fileSystem();
    const { home, root, workspace } = place;
    await writeFile(join(await home.folder('root', 'inside'), 'secret'), 'harmless');
    const swapper = new Worker(SWAPPER, { eval: true, workerData: { root, outside: home.path('outside') } });
    try {
      const seen = new Set<string>();
      const sizes = new Set<number>();
      for (let round = 0; round < 3000; round += 1) {
        const [read, lines, listed] = await Promise.allSettled([
          textOf(workspace, 'inside/secret'),
          workspace.readText('inside/secret', ALL_LINES),
          workspace.list('inside'),
          workspace.writeText('inside/written', 'written'),
        ]);
        seen.add(read.status === 'fulfilled' ? read.value : 'refused');
        seen.add(lines.status === 'fulfilled' ? lines.value : 'refused');
        const entries = listed.status === 'fulfilled' ? listed.value.entries : [];
        for (const { sizeBytes } of entries) sizes.add(sizeBytes);
      }
      expect([...seen].toSorted()).toEqual(['harmless', 'refused']);
      // Only the outside has a file of 6 bytes.
      expect(sizes).not.toContain(6);
      expect(await readdir(home.path('outside'))).toEqual(['secret']);
    } finally {
      await swapper.terminate();
    }
  });
});

// Turns root/inside from a directory into a link to the outside and back, as fast as it can. A write may make the directory
// anew in between; then it starts over.
const SWAPPER = `
  const { existsSync, renameSync, rmSync, symlinkSync } = require('node:fs');
  const { workerData: { root, outside } } = require('node:worker_threads');
  const [inside, aside, link] = [root + '/inside', root + '/aside', root + '/link'];
  symlinkSync(outside, link);
  for (;;) {
    try {
      renameSync(inside, aside);
      renameSync(link, inside);
      renameSync(inside, link);
      renameSync(aside, inside);
    } catch {
      try {
        if (existsSync(aside)) rmSync(inside, { recursive: true, force: true });
        if (existsSync(aside)) renameSync(aside, inside);
      } catch {
        // A write came in between: once more.
      }
    }
  }
`;

describe('a written file', () => {
  it('is there whole, its directories made, with nothing left beside it', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    await workspace.writeText('a/b/new', 'text\nwith ü');
    expect(await readFile(join(root, 'a/b/new'), 'utf8')).toBe('text\nwith ü');
    expect(await readdir(join(root, 'a/b'))).toEqual(['new']);
  });

  it('keeps the permissions of the one before it, and writes through a link that stays inside', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    await chmod(join(root, 'file'), 0o750);
    await symlink('file', join(root, 'link'));
    await workspace.writeText('link', 'changed');
    expect(await readFile(join(root, 'file'), 'utf8')).toBe('changed');
    expect((await stat(join(root, 'file'))).mode & 0o777).toBe(0o750);
    expect((await lstat(join(root, 'link'))).isSymbolicLink()).toBe(true);
  });

  it('is never seen half: a reader has the old text or the new', async () => {
    await using place = await fileSystem();
    const { workspace, root } = place;
    const texts = ['a', 'b'].map((letter) => letter.repeat(1_000_000));
    await writeFile(join(root, 'file'), texts[0] ?? '');
    for (let round = 0; round < 20; round += 1) {
      const writing = workspace.writeText('file', texts[(round + 1) % 2] ?? '');
      expect(texts).toContain(await readFile(join(root, 'file'), 'utf8'));
      await writing;
    }
  });

  it('does not go through a link that leads nowhere, nor below what is no directory', async () => {
    await using place = await fileSystem();
    const { workspace, root, home } = place;
    await symlink(home.path('outside', 'new'), join(root, 'dangling'));
    await expect(workspace.writeText('dangling', 'x')).rejects.toMatchObject({ code: 'not_found' });
    await expect(workspace.writeText('file/below', 'x')).rejects.toMatchObject({ code: expect.any(String) });
    expect(await readdir(home.path('outside'))).toEqual(['secret']);
    expect(await readdir(root)).toEqual(['dangling', 'file']);
  });

  it('leaves nothing behind when it cannot be put in place', async () => {
    await using place = await fileSystem();
    const { workspace, root, home } = place;
    await home.folder('root', 'directory', 'full');
    await expect(workspace.writeText('directory', 'x')).rejects.toMatchObject({ code: 'wrong_kind' });
    await rename(join(root, 'directory'), join(root, 'moved'));
    expect((await readdir(root)).toSorted()).toEqual(['file', 'moved']);
  });
});
