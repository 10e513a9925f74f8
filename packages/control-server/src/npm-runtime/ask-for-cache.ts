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
// What a version manager's wrapper leaves running in the background may hold the output open for ever.
const REST_MS = 1000;
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
  const onEnd = (code: number | null): void => {
    cancelRest?.();
    const answer = Buffer.concat(pieces).toString('utf8');
    if (code !== 0)
      fail(unavailable(`it ended with ${code === null ? 'a signal' : `exit code ${String(code)}`}`));
    else if (answer.endsWith('\n')) resolve(answer.slice(0, -1));
    else fail(unavailable('its answer has no end'));
  };
  let cancelRest: (() => void) | undefined;
  child.once('close', onEnd);
  child.once('exit', (code) => {
    cancelRest = clock.setTimer(REST_MS, () => {
      onEnd(code);
      child.stdout.destroy();
    });
  });
  try {
    return await promise;
  } finally {
    cancelTimer();
    cancelRest?.();
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
