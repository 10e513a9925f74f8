import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { FreshServer } from '@holdfast/executor-contract';
import { endChild } from './end.ts';
import { parseReadyLine, type ReadyLine } from './ready-line.ts';
import { ServerStartError } from './server-start-error.ts';

/** How to start a control server on this machine. */
export interface StartServerOptions {
  /** Program and arguments, to which those of the control server are added. */
  readonly command: readonly string[];
  readonly home: string;
  /** `bound`: it ends with this process. `detached`: nothing of this process reaches it any more (SURVIVAL-001.2). */
  readonly lifetime: 'detached' | 'bound';
  /** Its whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly readyTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** A control server that listens and that nobody owns yet. */
export interface StartedServer {
  readonly fresh: FreshServer;
  /** Ends it: for when it could not be taken over. */
  readonly end: () => Promise<void>;
}

const NONCE_BYTES = 32;
const MAX_LINE_BYTES = 64 * 1024;
const MAX_STDERR_CHARACTERS = 8 * 1024;

/**
 * Starts a control server in a session of its own and waits until it listens. The one-time nonce goes through its standard
 * input, never through arguments or environment. Rejects with {@link ServerStartError} or the signal's reason; the process
 * has ended then.
 */
export async function startServer(options: StartServerOptions): Promise<StartedServer> {
  const { command, home, lifetime, environment, readyTimeoutMs, signal } = options;
  signal.throwIfAborted();
  const [program = '', ...given] = command;
  const args = [...given, '--home', home, '--lifetime', lifetime, '--bootstrap', 'stdin'];
  const child = spawn(program, args, { cwd: home, env: environment, detached: true, stdio: 'pipe' });
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  // A server that ends early leaves the pipe broken; its exit tells more.
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify({ nonce })}\n`);

  try {
    const { endpoint } = await readyLineOf(child, { command: [program, ...args], readyTimeoutMs, signal });
    letGo(child, lifetime);
    return {
      fresh: { endpoint, route: 'direct', nonce },
      end: async () => {
        await endChild(child);
      },
    };
  } catch (error) {
    await endChild(child);
    throw error;
  }
}

function readyLineOf(
  child: ChildProcessWithoutNullStreams,
  { command, readyTimeoutMs, signal }: Pick<StartServerOptions, 'command' | 'readyTimeoutMs' | 'signal'>,
): Promise<ReadyLine> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadyLine>();
  let stdout = '';
  let stderr = '';
  const fail = (why: string, exitCode: number | null, cause?: unknown): void => {
    reject(new ServerStartError({ command, why, exitCode, stderr, cause }));
  };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR_CHARACTERS);
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const end = stdout.indexOf('\n');
    if (end < 0 && stdout.length <= MAX_LINE_BYTES) return;
    const ready = end < 0 ? undefined : parseReadyLine(stdout.slice(0, end));
    if (ready === undefined) fail('its first line of output is not the ready line of a control server', null);
    else resolve(ready);
  });
  child.on('error', (error) => {
    fail(error.message, null, error);
  });
  // "close" comes after all output has been read.
  child.once('close', (exitCode, endedBy) => {
    fail(`it ended with ${endedBy ?? `code ${String(exitCode)}`}`, exitCode);
  });
  const timer = setTimeout(() => {
    fail(`it did not listen within ${String(readyTimeoutMs)} ms`, null);
  }, readyTimeoutMs);
  const onAbort = (): void => {
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  });
}

/** The server must not keep this process up, and a detached one must not notice when it ends. */
function letGo(child: ChildProcessWithoutNullStreams, lifetime: 'detached' | 'bound'): void {
  child.unref();
  for (const output of [child.stdout, child.stderr]) discard(output, lifetime);
  if (lifetime === 'detached') child.stdin.destroy();
  // The open pipe is the lifeline of a bound server: the kernel closes it with this process.
  else if (child.stdin instanceof Socket) child.stdin.unref();
}

function discard(output: Readable, lifetime: 'detached' | 'bound'): void {
  output.removeAllListeners('data');
  if (lifetime === 'detached') {
    output.destroy();
    return;
  }
  output.resume();
  if (output instanceof Socket) output.unref();
}
