import { spawn } from 'node:child_process';
import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, normalize, relative } from 'node:path';
import { ControlError } from '@holdfast/control-protocol';
import type { Clock } from '../ports/clock.ts';
import { systemCode } from '../ports/system-error.ts';

/** In whose name npm is asked, and how long it has. */
export interface NpmQuestion {
  /** Where npm is run; see `prepareNeutralDirectory`. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** npm answers within a second; a machine under load, or a wrapper that fetches npm first, takes longer. */
const ANSWER_MS = 30_000;
/** Twice the longest path. */
const MAX_ANSWER_BYTES = 8192;

/**
 * Asks npm where its cache is, as an agent with that environment has it. Rejects with `npm_unavailable`, or with the reason of the
 * signal; npm and what it started are killed then. Nothing that npm writes gets into the error.
 */
export async function askNpmForCache(question: NpmQuestion): Promise<string> {
  const { directory, environment, clock, signal } = question;
  signal.throwIfAborted();
  // Plain output, and no files of npm's own in the cache that it is asked about.
  const args = ['config', 'get', 'cache', '--no-json', '--no-update-notifier', '--logs-max=0'];
  const child = spawn('npm', [...args, `--logs-dir=${directory}`], {
    cwd: directory,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const pieces: Buffer[] = [];
  let bytes = 0;
  const fail = (error: unknown): void => {
    reject(error);
    // It leads a group of its own, so a wrapper's children go with it.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child.pid);
    child.stdout.destroy();
  };
  const onAbort = (): void => {
    fail(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const cancelTimer = clock.setTimer(ANSWER_MS, () => {
    fail(unavailable(`it did not answer within ${String(ANSWER_MS)} ms`));
  });
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) fail(unavailable('its answer is too long'));
    else pieces.push(piece);
  });
  child.once('error', (error) => {
    fail(unavailable(`it cannot be run (${systemCode(error) ?? 'unknown'})`));
  });
  child.once('close', (code) => {
    if (code === 0) resolve(Buffer.concat(pieces).toString('utf8').replace(/\n$/, ''));
    else fail(unavailable(`it ended with ${code === null ? 'a signal' : `exit code ${String(code)}`}`));
  });
  try {
    return await promise;
  } finally {
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
  }
}

function unavailable(why: string): ControlError {
  return new ControlError(
    'npm_unavailable',
    `npm does not say where its cache is: ${why}. Check that npm works where the agent runs.`,
  );
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended since the look.
  }
}

/**
 * The real path of a cache that things may be removed from; null when there is no such directory. Throws `unsafe_cache_root` for
 * anything that is no plain directory of its own: a relative path, a file, a symbolic link, `/`, a home directory or one above it.
 */
export async function checkCacheRoot(answer: string, homes: readonly string[]): Promise<string | null> {
  if (!isAbsolute(answer) || answer.includes('\0') || normalize(answer) !== answer) {
    throw unsafe('npm’s answer is no plain absolute path');
  }
  const found = await lstatIfThere(answer);
  if (found === null) return null;
  if (found.isSymbolicLink()) throw unsafe('it is a symbolic link');
  if (!found.isDirectory()) throw unsafe('it is not a directory');
  const root = await realpath(answer);
  for (const home of ['/', ...homes]) {
    if (isWithin(await realpathIfThere(home), root)) throw unsafe('it is the home directory, or above it');
  }
  return root;
}

/** Whether a path is a directory or lies within it. */
function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith('../'));
}

/** The error for a cache that nothing is removed from. Names no path: the caller may not know the machine. */
export function unsafe(why: string): ControlError {
  return new ControlError(
    'unsafe_cache_root',
    `Nothing was removed from the npm cache of the agent: ${why}. Set npm’s cache to a directory of its own.`,
  );
}

/** What is at a path, itself and not what it may point to; null when there is nothing. */
export async function lstatIfThere(path: string): Promise<Awaited<ReturnType<typeof lstat>> | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw unsafe(`it cannot be looked at (${systemCode(error) ?? 'unknown'})`);
  }
}

async function realpathIfThere(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path;
  }
}
