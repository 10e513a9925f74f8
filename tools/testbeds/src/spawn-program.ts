import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { listProcesses } from './processes.ts';
import { until } from './until.ts';

/** Where and with what a program of a test is started. */
export interface ProgramOptions {
  /** The working directory; that of the test unless told. */
  readonly cwd?: string;
  /** Laid over the environment of the test; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Starts a program as the leader of a process group of its own, so that it can be ended with all it started. */
export async function spawnProgram(
  command: readonly string[],
  options: ProgramOptions,
): Promise<ChildProcessWithoutNullStreams & { readonly pid: number }> {
  const [file, ...args] = command;
  if (file === undefined) throw new TypeError('An empty command cannot be started.');
  const child = spawn(file, args, {
    cwd: options.cwd,
    // A task runner forces colours on its programs, and what a test reads would have them.
    env: { ...process.env, FORCE_COLOR: undefined, ...options.env },
    detached: true,
    stdio: 'pipe',
  });
  child.stdin.on('error', () => undefined); // the program may end without reading its input
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} was started without a process id.`);
  return Object.assign(child, { pid });
}

/** Kills every process of a group and waits until none is left. */
export async function killGroup(groupId: number): Promise<void> {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch {
    return; // nobody is in it any more
  }
  await until(() => listProcesses().every((entry) => entry.groupId !== groupId), {
    reason: `killed process group ${String(groupId)} to end`,
    withinMs: 60_000,
  });
}
