import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { runProgram, testHome } from '@holdfast/testbeds';
import * as surface from '../src/index.ts';
import { survivalCapability } from '../src/startup/capability.ts';
import { HostClosedError } from '../src/host-errors.ts';
import { ClosingStack } from '../src/startup/closing-stack.ts';
import { acquireInstallationLock } from '../src/startup/installation-lock.ts';
import { TurnResults } from '../src/turns/turn-results.ts';

describe('the survival capability', () => {
  it('is off unless switched on, and cannot be switched on where it is not available [SURVIVAL-005.2, SURVIVAL-005.4]', () => {
    expect(survivalCapability('linux', false)).toEqual({ state: 'disabled' });
    expect(survivalCapability('darwin', true)).toEqual({ state: 'enabled' });
    expect(survivalCapability('win32', true)).toEqual({ state: 'unavailable', reason: 'platform_windows' });
    expect(survivalCapability('win32', false)).toEqual({ state: 'unavailable', reason: 'platform_windows' });
  });
});

describe('the installation lock', () => {
  it('is exclusive within a process and between processes, and names its holder', async () => {
    await using home = await testHome('lock');
    const lock = acquireInstallationLock(home.root, new Date('2026-01-02T03:04:05Z'));
    expect(() => acquireInstallationLock(home.root, new Date())).toThrow(
      `is held by process ${String(process.pid)} on`,
    );
    // Refusing did not disturb the holder.
    expect(await lockElsewhere(home.root)).toContain('installation_locked');
    expect(JSON.parse(await readFile(home.path('installation-holder.json'), 'utf8'))).toMatchObject({
      pid: process.pid,
      since: '2026-01-02T03:04:05.000Z',
    });
    lock.release();
    lock.release();
    expect(await lockElsewhere(home.root)).toContain('acquired');
    acquireInstallationLock(home.root, new Date()).release();
  });
});

async function lockElsewhere(home: string): Promise<string> {
  const module = new URL('../src/startup/installation-lock.ts', import.meta.url).href;
  const source = `
    const { acquireInstallationLock } = await import(${JSON.stringify(module)});
    try { acquireInstallationLock(${JSON.stringify(home)}, new Date()); console.log('acquired'); }
    catch (error) { console.log(error.code); }`;
  const command = [process.execPath, '--conditions=@holdfast/source', '--input-type=module', '-e', source];
  const { stdout, stderr } = await runProgram(command, {
    timeoutMs: 60_000,
    env: { NODE_OPTIONS: undefined },
  });
  return stdout + stderr;
}

describe('what has been opened', () => {
  it('is closed in the opposite order, all of it, and the first failure is told', async () => {
    const closed: string[] = [];
    const opened = new ClosingStack();
    opened.add(() => void closed.push('lock'));
    opened.add(async () => {
      closed.push('ledger');
      await Promise.reject(new Error('the disk is gone'));
    });
    opened.add(() => void closed.push('runtimes'));
    await expect(opened.close()).rejects.toThrow('the disk is gone');
    expect(closed).toEqual(['runtimes', 'ledger', 'lock']);
    await opened.close();
    expect(closed).toHaveLength(3);
  });
});

describe('waiting for a turn', () => {
  it('ends with what is stored, with what comes, or with the host', async () => {
    const stored = new Map([['old', { kind: 'completed', stopReason: 'end_turn' } as const]]);
    const results = new TurnResults(async (turnId) => await Promise.resolve(stored.get(turnId)));
    expect(await results.wait('old')).toEqual({ kind: 'completed', stopReason: 'end_turn' });
    const coming = [results.wait('new'), results.wait('new')];
    results.settle('new', { kind: 'cancelled', stopReason: 'cancelled' });
    expect(await Promise.all(coming)).toEqual([
      { kind: 'cancelled', stopReason: 'cancelled' },
      { kind: 'cancelled', stopReason: 'cancelled' },
    ]);
    const never = results.wait('never');
    results.close(new HostClosedError());
    await expect(never).rejects.toThrow('the host was closed');
    await expect(results.wait('old')).rejects.toThrow('the host was closed');
  });

  it('ends without a result where another backend will have it, then and later', async () => {
    const results = new TurnResults(async () => await Promise.resolve(undefined));
    const waiting = results.wait('lost');
    const other = results.wait('other');
    results.lose('lost', new Error('taken over'));
    await expect(waiting).rejects.toThrow('taken over');
    await expect(results.wait('lost')).rejects.toThrow('taken over');
    results.settle('other', { kind: 'cancelled', stopReason: 'cancelled' });
    expect(await other).toMatchObject({ kind: 'cancelled' });
  });

  it('fails when the ledger does', async () => {
    const results = new TurnResults(async () => await Promise.reject(new Error('unreadable')));
    await expect(results.wait('one')).rejects.toThrow('unreadable');
  });
});

it('exports what is named here and nothing else', () => {
  expect(Object.keys(surface).toSorted()).toMatchInlineSnapshot(`
[
  "AgentNotGoneError",
  "AgentStartCancelledError",
  "AgentStartFailedError",
  "AgentUnstoppableError",
  "ChoiceRefusedError",
  "ChoiceUnresolvedError",
  "HomeUnusableError",
  "HostClosedError",
  "HostOptionError",
  "InstallationLockedError",
  "LedgerUnavailableError",
  "LockFileUnusableError",
  "OwnershipLostError",
  "PromptUnresolvedError",
  "SessionNotFoundError",
  "SessionNotLiveError",
  "SessionRecoveringError",
  "SessionTakenOverError",
  "SettingError",
  "SharedLockHeldError",
  "SharedLockLostError",
  "SharedLockUnavailableError",
  "TurnInProgressError",
  "closeOnSignals",
  "createHost",
]
`);
});
