import { chmod, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { testHome, type TestHome } from '@holdfast/testbeds';
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

  it('takes no path for a reference', async () => {
    const store = createFileSecretStore(folder);
    await store.write('one');
    await writeFile(home.path('outside'), '{"version":1,"secret":"hush"}', { mode: 0o600 });
    await expect(store.read('../outside')).rejects.toMatchObject({ code: 'secret_unavailable' });
    await expect(store.remove('../outside')).rejects.toMatchObject({ code: 'secret_unavailable' });
    expect(await readFile(home.path('outside'), 'utf8')).toContain('hush');
  });
});
