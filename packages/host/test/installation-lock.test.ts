import { chmod, chown, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { standalone } from '@holdfast/executor-standalone';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import {
  processIsAlive,
  runProgram,
  startProgram,
  testHome,
  waitForExit,
  type StartedProgram,
} from '@holdfast/testbeds';
import { createHost, type HostEvent } from '../src/index.ts';
import { acquireInstallationLock } from '../src/startup/installation-lock.ts';

const WITHIN_MS = 60_000;
const ROUNDS = 200;

function fixture(name: string, ...args: readonly string[]): string[] {
  const path = fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
  return [process.execPath, '--conditions=@holdfast/source', '--expose-gc', path, ...args];
}

async function start(name: string, ...args: readonly string[]): Promise<StartedProgram> {
  return await startProgram(fixture(name, ...args), { env: { NODE_OPTIONS: undefined } });
}

describe('two backends that want one installation at the same moment', () => {
  it('come to exactly one holder, each of 200 times, and the other is told who it is [OWNERSHIP-002.4]', async () => {
    await using home = await testHome('races');
    await using first = await start('lock-racer.ts');
    await using second = await start('lock-racer.ts');
    const racers = [first, second];
    await Promise.all(racers.map(async (racer) => await racer.nextLine('ready', { withinMs: WITHIN_MS })));
    const kept = await home.folder('kept');
    const wins = new Map(racers.map(({ pid }) => [pid, 0]));
    for (let round = 0; round < ROUNDS; round += 1) {
      // In turn a file that has been locked before, and one that both have to make.
      const raced = round % 2 === 0 ? kept : await home.folder(`fresh-${String(round)}`);
      const order = `${JSON.stringify({ home: raced, at: Date.now() + 10 })}\n`;
      for (const racer of racers) racer.write(order);
      const told = await Promise.all(
        racers.map(async (racer) => {
          const line = await racer.nextLine('won', { withinMs: WITHIN_MS });
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both ends of the pipe are ours
          const answer = JSON.parse(line) as { won: boolean; code?: string; holder?: number | null };
          return { pid: racer.pid, ...answer };
        }),
      );
      const winners = told.filter(({ won }) => won);
      expect({ round, winners: winners.length }).toEqual({ round, winners: 1 });
      const winner = winners[0]?.pid ?? 0;
      wins.set(winner, (wins.get(winner) ?? 0) + 1);
      expect(told.find(({ won }) => !won)).toMatchObject({ code: 'installation_locked', holder: winner });
      for (const racer of racers) racer.write('{"release":true}\n');
      for (const racer of racers) await racer.nextLine('released', { withinMs: WITHIN_MS });
    }
    expect([...wins.values()].reduce((sum, count) => sum + count)).toBe(ROUNDS);
  });
});

describe('the holder of an installation', () => {
  it('is not disturbed by attempts of its own, and leaves nothing locked when it is killed, whatever its children have of it [OWNERSHIP-002.4]', async () => {
    await using home = await testHome('holder');
    await home.folder('home');
    await symlink(home.path('home'), home.path('alias'));
    await using holder = await start('lock-holder.ts', home.path('home'), home.path('alias'));
    const line = await holder.nextLine('attempts', { withinMs: WITHIN_MS });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both ends of the pipe are ours
    const told = JSON.parse(line) as { attempts: unknown; given: number; children: number[] };
    const refused = 'installation_locked';
    try {
      expect(told.attempts).toEqual({ again: refused, worker: refused, alias: refused });
      // A child has descriptors of the very file, where the platform lets them be found.
      expect(told.given > 0).toBe(process.platform === 'linux');
      expect(() => acquireInstallationLock(home.path('home'), new Date())).toThrow(
        `is held by process ${String(holder.pid)} on ${hostname()}, since 2`,
      );

      holder.kill('SIGKILL');
      await holder.exited;
      expect(told.children.map((pid) => processIsAlive(pid))).toEqual([true, true, true]);
      // At once: the first attempt, not one of several.
      acquireInstallationLock(home.path('home'), new Date()).release();
      expect(told.children.map((pid) => processIsAlive(pid))).toEqual([true, true, true]);
    } finally {
      for (const pid of told.children) {
        process.kill(pid, 'SIGKILL');
        await waitForExit(pid, { withinMs: WITHIN_MS, reason: 'a child of the holder' });
      }
    }
  });

  it('lets go when it cannot write its name down', async () => {
    await using home = await testHome('nameless');
    await mkdir(home.path('installation-holder.json'));
    expect(() => acquireInstallationLock(home.root, new Date())).toThrow('EISDIR');
    // Had it kept the lock, this would be refused.
    expect(() => acquireInstallationLock(home.root, new Date())).toThrow('EISDIR');
  });
});

describe('a lock file that is of no use', () => {
  const options = (home: string): Parameters<typeof createHost>[0] => ({
    home,
    runtimes: [standalone()],
    agents: { scripted: { command: scriptedAgentCommand() } },
    environment: {},
  });

  it('is told by name and left as it is when it holds something else', async () => {
    await using home = await testHome('junk-lock');
    const junk = 'these are my notes, not your lock. '.repeat(100);
    await home.folder('home');
    await writeFile(home.path('home', 'installation.lock'), junk);
    await expect(createHost(options(home.path('home')))).rejects.toMatchObject({
      code: 'lock_file_unusable',
      file: home.path('home', 'installation.lock'),
      message: expect.stringMatching(
        /installation\.lock cannot be used: it holds something that no host has written; while no backend runs, move it away/,
      ),
    });
    expect(await readFile(home.path('home', 'installation.lock'), 'utf8')).toBe(junk);
    expect(await readdir(home.path('home'))).toEqual(['installation.lock']);
  });

  it('is told by name when it is a folder', async () => {
    await using home = await testHome('folder-lock');
    await home.folder('home', 'installation.lock');
    await expect(createHost(options(home.path('home')))).rejects.toMatchObject({
      code: 'lock_file_unusable',
      message: expect.stringContaining('unable to open database file'),
    });
  });

  it('is told by name when it cannot be written to, instead of seeming to be locked', async () => {
    await using home = await testHome('read-only-lock');
    await home.folder('home');
    const file = home.path('home', 'installation.lock');
    await writeFile(file, '', { mode: 0o444 });
    const uid = 65_534;
    // Root can write to every file, so the attempt is another user's.
    const user = process.getuid?.() === 0 ? uid : null;
    if (user !== null) {
      await chmod(home.root, 0o755);
      await chown(home.path('home'), user, user);
      await chown(file, user, user);
    }
    const module = new URL('../src/startup/installation-lock.ts', import.meta.url).href;
    const source = `
      const { acquireInstallationLock } = await import(${JSON.stringify(module)});
      if (${String(user)} !== null) process.seteuid(${String(user)});
      try { acquireInstallationLock(${JSON.stringify(home.path('home'))}, new Date()); console.log('acquired'); }
      catch (error) { console.log(error.code, error.message); }`;
    const { stdout } = await runProgram(
      [process.execPath, '--conditions=@holdfast/source', '--input-type=module', '-e', source],
      { timeoutMs: WITHIN_MS, env: { NODE_OPTIONS: undefined } },
    );
    expect(stdout).toMatch(
      /^lock_file_unusable .*installation\.lock cannot be used: it cannot be written to;/,
    );
  });
});

describe('a backend that finds the installation held', () => {
  it('reads and writes nothing that is shared [OWNERSHIP-002.4]', async () => {
    await using home = await testHome('untouched');
    await home.folder('home');
    // Whoever reads the ledger here, the record in it or the secrets fails in another way.
    await home.folder('home', 'ledger.db');
    await writeFile(home.path('home', 'secrets'), 'a file where a folder should be');
    const lock = acquireInstallationLock(home.path('home'), new Date());
    const events: HostEvent[] = [];
    const options = {
      home: home.path('home'),
      runtimes: [standalone()],
      agents: {},
      environment: {},
      onEvent: (event: HostEvent): void => void events.push(event),
    };
    const before = await contents(home.path('home'));
    await expect(createHost(options)).rejects.toMatchObject({ code: 'installation_locked' });
    expect(await contents(home.path('home'))).toEqual(before);
    expect(events).toEqual([]);
    lock.release();
    // Once it is free, the next thing is the ledger.
    await expect(createHost(options)).rejects.toMatchObject({ code: 'ledger_unavailable' });
  });

  /** All there is below a folder: names, sizes, times and inodes. */
  async function contents(folder: string): Promise<unknown> {
    const names = (await readdir(folder, { recursive: true })).toSorted();
    return await Promise.all(
      names.map(async (name) => {
        const { size, mtimeMs, ctimeMs, ino, mode } = await stat(`${folder}/${name}`);
        return { name, size, mtimeMs, ctimeMs, ino, mode };
      }),
    );
  }
});
