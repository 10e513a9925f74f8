import { chmod, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
import { askNpmForCache } from '../../src/npm-runtime/ask-for-cache.ts';
import { checkCacheRoot } from '../../src/npm-runtime/cache-root.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { fastClock } from '../support/manual-clock.ts';
import { longSleep, running } from '../support/npm-world.ts';

const PATH = process.env['PATH'] ?? '';
const refused = expect.objectContaining({ code: 'unsafe_cache_root' });

interface Asked {
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly faster?: number;
}

async function ask(home: TestHome, { environment = {}, signal, faster }: Asked = {}): Promise<string> {
  return await askNpmForCache({
    directory: await home.folder('neutral'),
    environment: { PATH, HOME: home.path('user'), ...environment },
    clock: faster === undefined ? systemClock() : fastClock(faster),
    signal: signal ?? new AbortController().signal,
  });
}

/** A program in the place of npm, for what npm itself does not do on demand. */
async function insteadOfNpm(home: TestHome, script: string): Promise<Record<string, string>> {
  const folder = await home.folder('bin');
  await writeFile(`${folder}/npm`, `#!/bin/sh\n${script}\n`);
  await chmod(`${folder}/npm`, 0o755);
  return { PATH: `${folder}:${PATH}` };
}

describe('where npm says its cache is', () => {
  it.each([
    ['npm_config_cache', 'a cache'],
    ['NPM_CONFIG_CACHE', 'ein Zwischenspeicher, größer'],
    ['npm_config_cache', 'with\nline\nends'],
  ])('is what the environment says in %s: %j [RUNTIME-002.1]', async (name, cache) => {
    await using home = await testHome('npm-cache');
    expect(await ask(home, { environment: { [name]: home.path(cache) } })).toBe(home.path(cache));
  });

  it('is what the user’s own settings say, else in the home directory [RUNTIME-002.1]', async () => {
    await using home = await testHome('npm-cache');
    expect(await ask(home)).toBe(home.path('user', '.npm'));
    await writeFile(`${await home.folder('user')}/.npmrc`, `cache=${home.path('theirs')}\n`);
    expect(await ask(home)).toBe(home.path('theirs'));
  });

  it('comes plain and without a trace in the cache, whatever else is set', async () => {
    await using home = await testHome('npm-cache');
    const cache = await home.folder('cache');
    const environment = {
      npm_config_cache: cache,
      npm_config_json: 'true',
      npm_config_color: 'always',
      npm_config_loglevel: 'silly',
      npm_config_logs_max: '10',
    };
    expect(await ask(home, { environment })).toBe(cache);
    expect(await readdir(cache)).toEqual([]);
    expect(await readdir(home.path('neutral'))).toEqual([]);
  });

  it.each([
    ['exit 3', 'it ended with exit code 3'],
    ['kill -9 $$', 'it ended with a signal'],
    ['echo secret >&2; echo secret; exit 1', 'it ended with exit code 1'],
    ['while :; do echo /secret/secret/secret/secret/secret/secret; done', 'its answer is too long'],
  ])('is not known when npm does this: %s [RUNTIME-002.6]', async (script, why) => {
    await using home = await testHome('npm-cache');
    const error: unknown = await ask(home, { environment: await insteadOfNpm(home, script) }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'npm_unavailable', message: expect.stringContaining(why) });
    expect(JSON.stringify(error) + String(error)).not.toContain('secret');
  });

  it('is not known without npm', async () => {
    await using home = await testHome('npm-cache');
    await expect(ask(home, { environment: { PATH: '/nowhere' } })).rejects.toMatchObject({
      code: 'npm_unavailable',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('is known when npm has ended, whatever it has left running [RUNTIME-002.1]', async () => {
    await using home = await testHome('npm-cache');
    const environment = await insteadOfNpm(home, `echo /answer; ${SLEEP} & echo $! > ${home.path('pid')}`);
    expect(await ask(home, { environment })).toBe('/answer');
    process.kill(Number(await readFile(home.path('pid'), 'utf8')), 'SIGKILL');
    const halfSaid = await insteadOfNpm(home, 'printf /ans');
    await expect(ask(home, { environment: halfSaid })).rejects.toThrow('its answer has no end');
  });

  it('is awaited for a bounded time, and nothing of npm is left after it [RUNTIME-002.5]', async () => {
    await using home = await testHome('npm-cache');
    const environment = await insteadOfNpm(home, `${SLEEP} & ${SLEEP}`);
    await expect(ask(home, { environment, faster: 100 })).rejects.toThrow(
      'it did not answer within 30000 ms',
    );
    const stop = new AbortController();
    const asked = ask(home, { environment, signal: stop.signal }).catch((error: unknown) => error);
    await until(() => sleepers() >= 2, { reason: 'npm to run', withinMs: 60_000 });
    stop.abort('given up');
    expect(await asked).toBe('given up');
    await until(() => sleepers() === 0, { reason: 'what npm started to end', withinMs: 60_000 });
    await expect(ask(home, { signal: stop.signal })).rejects.toBe('given up');
  });
});

const SLEEP = longSleep(2);
const sleepers = (): number => running(SLEEP).length;

describe('a cache that things may be removed from', () => {
  it('is a directory of its own, by its real path', async () => {
    await using home = await testHome('npm-cache');
    const cache = await home.folder('real', 'a cache\nwith all sorts');
    await symlink(home.path('real'), home.path('above'));
    expect(await checkCacheRoot(cache, [home.path('user')])).toBe(cache);
    expect(await checkCacheRoot(home.path('above', 'a cache\nwith all sorts'), [])).toBe(cache);
    expect(await checkCacheRoot(home.path('missing'), [])).toBeNull();
    const user = await home.folder('user');
    expect(await checkCacheRoot(await home.folder('user', '.npm'), [user])).toBe(`${user}/.npm`);
  });

  it.each([
    '',
    '.',
    'cache',
    './cache',
    '../cache',
    '~/.npm',
    '/a/../b',
    '/a/..',
    '/a//b',
    '/a/',
    '/a/.',
    '/a\0b',
    'null',
  ])('is not %j [RUNTIME-002.4]', async (answer) => {
    await expect(checkCacheRoot(answer, [])).rejects.toThrow(refused);
  });

  it('is not the root, a home directory or one above it, in whatever words [RUNTIME-002.4]', async () => {
    await using home = await testHome('npm-cache');
    const user = await home.folder('homes', 'user');
    await symlink(home.path('homes'), home.path('other'));
    await expect(checkCacheRoot('/', [])).rejects.toThrow(refused);
    for (const broad of [user, home.path('homes'), home.root, home.path('other', 'user')]) {
      await expect(checkCacheRoot(broad, [user])).rejects.toThrow(refused);
      await expect(checkCacheRoot(broad, [home.path('other', 'user')])).rejects.toThrow(refused);
    }
  });

  it('is no file, no symbolic link and nothing within a file [RUNTIME-002.4]', async () => {
    await using home = await testHome('npm-cache');
    await mkdir(home.path('real'));
    await symlink(home.path('real'), home.path('link'));
    await writeFile(home.path('file'), '');
    for (const path of ['link', 'file', 'file/cache']) {
      const error: unknown = await checkCacheRoot(home.path(path), []).catch((caught: unknown) => caught);
      expect(error).toEqual(refused);
      expect(String(error)).not.toContain(home.root);
    }
  });
});
