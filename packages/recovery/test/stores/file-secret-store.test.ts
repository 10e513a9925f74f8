import { chmod, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startProgram, testHome, type TestHome } from '@holdfast/testbeds';
import { createFileSecretStore } from '../../src/index.ts';

let home: TestHome;
let folder: string;

beforeEach(async () => {
  home = await testHome('secrets');
  folder = home.path('secrets');
});

afterEach(async () => {
  await home[Symbol.asyncDispose]();
});

describe('createFileSecretStore', () => {
  it('keeps secrets in private files, under references that tell nothing', async () => {
    const store = createFileSecretStore(folder);
    const [first, second] = [await store.write('one'), await store.write('two')];
    expect(first).not.toBe(second);
    expect(await store.read(first)).toBe('one');
    // Another process reads what this one wrote.
    expect(await createFileSecretStore(folder).read(second)).toBe('two');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, first))).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).toSorted()).toEqual([first, second].toSorted());
  });

  it('forgets a secret, and one that is gone again', async () => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    await store.remove(reference);
    await store.remove(reference);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_unavailable', reference });
  });

  it('refuses a folder that others can reach, to read and to write', async () => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    await chmod(folder, 0o750);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe', path: folder });
    await expect(store.write('two')).rejects.toMatchObject({ code: 'secret_store_unsafe', path: folder });
  });

  it('refuses a file that others can read', async () => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    await chmod(join(folder, reference), 0o640);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe' });
  });

  it('refuses symbolic links, as folder and as file', async () => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    const file = join(folder, reference);
    await rename(file, home.path('elsewhere'));
    await symlink(home.path('elsewhere'), file);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe', path: file });
    await symlink(folder, home.path('link'));
    await expect(createFileSecretStore(home.path('link')).write('two')).rejects.toMatchObject({
      code: 'secret_store_unsafe',
    });
  });

  it('refuses a folder in the place of a file', async () => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    await store.remove(reference);
    await mkdir(join(folder, reference), { mode: 0o700 });
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe' });
  });

  it.each([
    ['no JSON', 'hush'],
    ['no object', '"hush"'],
    ['no secret', '{"version":1}'],
    ['another version', '{"version":2,"secret":"hush"}'],
    ['a secret that is no text', '{"version":1,"secret":["hush"]}'],
    ['nothing', ''],
    ['too much', `{"version":1,"secret":"${'hush'.repeat(20_000)}"}`],
  ])('takes a file that holds %s for no secret, without quoting it', async (_what, content) => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    await writeFile(join(folder, reference), content);
    const error: unknown = await store.read(reference).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'secret_unavailable' });
    expect(String(error)).not.toContain('hush');
  });

  it('is whole or not at all after its writer was killed, twenty times at any moment', async () => {
    const unfinished = (names: readonly string[]): string[] => names.filter((name) => name.endsWith('.new'));
    let left = 0;
    for (let round = 0; round < 20; round += 1) {
      await using writer = await startProgram([
        process.execPath,
        '--conditions=@holdfast/source',
        fileURLToPath(new URL('../fixtures/secret-writer.ts', import.meta.url)),
        folder,
      ]);
      for (let count = 0; count < 1 + (round % 7); count += 1) {
        await writer.nextLine(/^[0-9a-f]{32}$/, { withinMs: 60_000 });
      }
      writer.kill('SIGKILL');
      await writer.exited;

      const store = createFileSecretStore(folder);
      const names = await readdir(folder);
      const whole = names.filter((name) => !name.endsWith('.new'));
      for (const name of whole) expect(await store.read(name)).toBe('s'.repeat(40_000));
      for (const name of unfinished(names)) {
        const reference = name.replace('.new', '');
        await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_unavailable' });
      }
      expect(whole).toEqual(expect.arrayContaining([...writer.lines()]));
      left += unfinished(names).length;

      // The next writer finds what it needs, and clears what is left.
      const reference = await store.write('one');
      expect(await store.read(reference)).toBe('one');
      expect(unfinished(await readdir(folder))).toEqual([]);
      for (const name of await readdir(folder)) await store.remove(name);
    }
    // Otherwise no kill came in the middle of a write, and nothing was shown.
    expect(left).toBeGreaterThan(0);
  });

  it('clears what a writer that died has left, once, and nothing else', async () => {
    const kept = await createFileSecretStore(folder).write('kept');
    const left = `${'a'.repeat(32)}.new`;
    await writeFile(join(folder, left), '{"version":1,"sec', { mode: 0o600 });
    await writeFile(join(folder, 'notes.new'), 'not ours', { mode: 0o600 });
    await mkdir(join(folder, `${'b'.repeat(32)}.new`));

    const store = createFileSecretStore(folder);
    await store.read(kept);
    expect(await readdir(folder)).toContain(left);
    const written = await Promise.all(
      ['one', 'two', 'three'].map(async (secret) => await store.write(secret)),
    );
    expect((await readdir(folder)).toSorted()).toEqual(
      [kept, ...written, 'notes.new', `${'b'.repeat(32)}.new`].toSorted(),
    );
    // What appears later belongs to a write of its own.
    await writeFile(join(folder, left), '');
    await store.write('four');
    expect(await readdir(folder)).toContain(left);
  });

  it.each([
    ['group reads', 0o640],
    ['group writes', 0o620],
    ['others read', 0o604],
    ['anybody runs', 0o711],
    ['everybody everything', 0o777],
  ])('refuses a file and a folder with a mode by which %s', async (_who, mode) => {
    const store = createFileSecretStore(folder);
    const reference = await store.write('one');
    const file = join(folder, reference);
    await chmod(file, mode);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe', path: file });
    await chmod(file, 0o600);
    await chmod(folder, mode | 0o700);
    await expect(store.read(reference)).rejects.toMatchObject({ code: 'secret_store_unsafe', path: folder });
    await expect(store.write('two')).rejects.toMatchObject({ code: 'secret_store_unsafe', path: folder });
  });

  it('keeps secrets private whatever the umask is', async () => {
    const before = process.umask(0);
    try {
      const reference = await createFileSecretStore(folder).write('one');
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      expect((await stat(join(folder, reference))).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it('takes no path for a reference', async () => {
    const store = createFileSecretStore(folder);
    await store.write('one');
    await writeFile(home.path('outside'), '{"version":1,"secret":"hush"}', { mode: 0o600 });
    await expect(store.read('../outside')).rejects.toMatchObject({ code: 'secret_unavailable' });
    await expect(store.remove('../outside')).rejects.toMatchObject({ code: 'secret_unavailable' });
    expect(await readFile(home.path('outside'), 'utf8')).toContain('hush');
  });
});
