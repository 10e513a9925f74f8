import { spawn } from 'node:child_process';
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
  // No request to a registry, and no files of npm's own in the cache that it is asked about.
  const args = ['config', 'get', 'cache', '--no-update-notifier', '--logs-max=0'];
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
