import { killGroup, spawnProgram, type ProgramOptions } from './spawn-program.ts';

/** How to run a program to its end. */
export interface RunProgramOptions extends ProgramOptions {
  /** Written to its standard input, which is closed then. */
  readonly input?: string;
  /** By when it must have ended and closed its output, in milliseconds. */
  readonly timeoutMs: number;
}

/** How a program ended and what it wrote. Exactly one of `exitCode` and `signal` is not `null`. */
export interface ProgramResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program did not end in time; it was killed with its process group. */
export class ProgramTimeoutError extends Error {
  readonly code = 'program_timeout';
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly stdout: string;
  readonly stderr: string;

  constructor(facts: { command: readonly string[]; timeoutMs: number; stdout: string; stderr: string }) {
    super(
      `${facts.command.join(' ')} did not end within ${String(facts.timeoutMs)} ms and was killed.\n` +
        `stdout:\n${facts.stdout}\nstderr:\n${facts.stderr}`,
    );
    this.name = 'ProgramTimeoutError';
    this.command = facts.command;
    this.timeoutMs = facts.timeoutMs;
    this.stdout = facts.stdout;
    this.stderr = facts.stderr;
  }
}

/**
 * Runs a program until it has ended and nobody holds its output open any more. A failing exit is a result, not an error.
 * Throws `ProgramTimeoutError`, or the error of the system when the program cannot be started.
 */
export async function runProgram(
  command: readonly string[],
  options: RunProgramOptions,
): Promise<ProgramResult> {
  const child = await spawnProgram(command, options);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const { promise: closed, resolve, reject } = Promise.withResolvers<ProgramResult>();
  child.once('close', (exitCode, signal) => {
    resolve({ exitCode, signal, ...output });
  });
  const timer = setTimeout(() => {
    reject(new ProgramTimeoutError({ command, timeoutMs: options.timeoutMs, ...output }));
  }, options.timeoutMs);
  child.stdin.end(options.input ?? '');
  try {
    return await closed;
  } catch (error) {
    await killGroup(child.pid);
    child.stdout.destroy();
    child.stderr.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
