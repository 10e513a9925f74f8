import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesUsing, processStartTime, type ProcessEntry } from './processes.ts';
import { ConditionNotMetError, until } from './until.ts';

// A process that has been told to end takes its time on a machine that does much else.
const GRACE_MS = 10_000;

/**
 * A temporary folder of one suite or test. Leaving it (`await using`) waits up to ten seconds for processes that live off
 * it to end, kills those that did not, removes the folder, and throws `LeakedProcessesError` if there were any.
 */
export interface TestHome extends AsyncDisposable {
  /** Absolute, without symbolic links. */
  readonly root: string;
  /** An absolute path below the root; nothing is created. */
  path(...segments: string[]): string;
  /** An absolute path below the root, created as a folder together with its parents. */
  folder(...segments: string[]): Promise<string>;
}

/** A test left processes behind. They have been killed; the test that started them has to end them itself. */
export class LeakedProcessesError extends Error {
  readonly code = 'leaked_processes';
  readonly processes: readonly ProcessEntry[];

  constructor(root: string, processes: readonly ProcessEntry[]) {
    const list = processes.map((entry) => `\n  ${String(entry.pid)}: ${entry.commandLine}`).join('');
    super(
      `${String(processes.length)} process(es) of ${root} outlived the test and were killed; end them in the test:${list}`,
    );
    this.name = 'LeakedProcessesError';
    this.processes = processes;
  }
}

/** Makes a temporary folder that no other test uses. `name` appears in its path, to tell suites apart. */
export async function testHome(name = ''): Promise<TestHome> {
  const prefix = name === '' ? 'holdfast-test-' : `holdfast-test-${name}-`;
  const root = await mkdtemp(join(await realpath(tmpdir()), prefix));
  const path = (...segments: string[]): string => join(root, ...segments);
  return {
    root,
    path,
    async folder(...segments) {
      await mkdir(path(...segments), { recursive: true });
      return path(...segments);
    },
    async [Symbol.asyncDispose]() {
      const leaked = await endLeaks(root);
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
      if (leaked.length > 0) throw new LeakedProcessesError(root, leaked);
    },
  };
}

/** Gives what was still running after the grace, and has been killed. */
async function endLeaks(root: string): Promise<readonly ProcessEntry[]> {
  if (await endsWithin(root, GRACE_MS)) return [];
  const leaked = new Map<number, ProcessEntry>();
  // A process may start another between the look and the kill, hence until none is left.
  await until(
    () => {
      const running = processesUsing(root);
      for (const entry of running) {
        leaked.set(entry.pid, entry);
        kill(entry);
      }
      return running.length === 0;
    },
    { reason: `killed processes of ${root} to end`, withinMs: 60_000 },
  );
  return [...leaked.values()];
}

async function endsWithin(root: string, withinMs: number): Promise<boolean> {
  try {
    return await until(() => processesUsing(root).length === 0, {
      reason: `processes of ${root} to end`,
      withinMs,
    });
  } catch (error) {
    if (error instanceof ConditionNotMetError) return false;
    throw error;
  }
}

function kill(entry: ProcessEntry): void {
  if (processStartTime(entry.pid) !== entry.startTime) return; // the number was given to another process
  try {
    process.kill(entry.pid, 'SIGKILL');
  } catch {
    // ended by itself meanwhile
  }
}
