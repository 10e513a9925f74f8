import { createInterface } from 'node:readline';
import { killGroup, spawnProgram, type ProgramOptions } from './spawn-program.ts';
import { until } from './until.ts';

/** A text the line contains, a pattern it matches, or a question asked of it. */
export type LineMatch = string | RegExp | ((line: string) => boolean);

/** Which of a program's two outputs is meant. */
export type OutputName = 'stdout' | 'stderr';

/** Which line to wait for, and how long. */
export interface NextLineOptions {
  readonly withinMs: number;
  /** `stdout` unless told. */
  readonly from?: OutputName;
}

/** How a program ended. Exactly one of the two is not `null`. */
export interface ProgramExit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running program. Disposing it kills its whole process group and waits until all of it has ended. */
export interface StartedProgram extends AsyncDisposable {
  /** Also the id of its process group. */
  readonly pid: number;
  /** Settles when the program itself has ended; others may still hold its output open. Never rejects. */
  readonly exited: Promise<ProgramExit>;
  /** The whole lines it has written so far; of `stdout` unless told. */
  lines(from?: OutputName): readonly string[];
  /**
   * The first matching line after the one that the call before gave (for the same output), at once or as soon as it is written.
   * Throws when the output ends without it, and at the deadline; the message holds what was written instead, on either output.
   */
  nextLine(match: LineMatch, options: NextLineOptions): Promise<string>;
  /** Writes to its standard input. */
  write(text: string): void;
  /** Closes its standard input. */
  endInput(): void;
  /** Sends a signal to the program alone. `false` when it has ended already. */
  kill(signal: NodeJS.Signals): boolean;
}

interface Output {
  readonly lines: string[];
  read: number;
  ended: boolean;
}

// Whoever else holds the output of a program may never let go.
const LAST_LINES_MS = 1000;

/** Starts a program that goes on running. Throws the error of the system when it cannot be started. */
export async function startProgram(
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<StartedProgram> {
  const child = await spawnProgram(command, options);
  const { promise: exited, resolve } = Promise.withResolvers<ProgramExit>();
  child.once('exit', (exitCode, signal) => {
    resolve({ exitCode, signal });
  });
  const outputs = { stdout: collect(child.stdout), stderr: collect(child.stderr) };
  return {
    pid: child.pid,
    exited,
    lines: (from = 'stdout') => outputs[from].lines,
    nextLine: async (match, { withinMs, from = 'stdout' }) =>
      await nextLine(outputs, match, { withinMs, program: command.join(' '), from }),
    write: (text) => {
      child.stdin.write(text);
    },
    endInput: () => {
      child.stdin.end();
    },
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      await killGroup(child.pid);
      await exited;
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

function collect(stream: NodeJS.ReadableStream): Output {
  const output: Output = { lines: [], read: 0, ended: false };
  createInterface({ input: stream, crlfDelay: Infinity })
    .on('line', (line) => output.lines.push(line))
    .on('close', () => {
      output.ended = true;
    });
  return output;
}

async function nextLine(
  outputs: Readonly<Record<OutputName, Output>>,
  match: LineMatch,
  about: { withinMs: number; program: string; from: OutputName },
): Promise<string> {
  const output = outputs[about.from];
  const other: OutputName = about.from === 'stdout' ? 'stderr' : 'stdout';
  const start = output.read;
  // Why it did not come is often said on the other output.
  const withBoth = (error: unknown): unknown =>
    withLines(withLines(error, 'It wrote', output.lines.slice(start)), `On ${other}`, outputs[other].lines);
  const found = await until(
    () => {
      for (; output.read < output.lines.length; output.read += 1) {
        const line = output.lines[output.read];
        if (line !== undefined && matches(line, match)) return { line };
      }
      return output.ended && { line: undefined };
    },
    {
      reason: `a line like ${String(match)} on ${about.from} of ${about.program}`,
      withinMs: about.withinMs,
      everyMs: 5,
    },
  ).catch((error: unknown) => {
    throw withBoth(error);
  });
  if (found.line === undefined) {
    // What it said at last on the other output may still be on its way.
    await until(() => outputs[other].ended, {
      reason: 'its other output to end',
      withinMs: LAST_LINES_MS,
    }).catch(() => undefined);
    throw withBoth(
      new Error(`${about.program} ended its ${about.from} without a line like ${String(match)}.`),
    );
  }
  output.read += 1;
  return found.line;
}

function matches(line: string, match: LineMatch): boolean {
  if (typeof match === 'string') return line.includes(match);
  return match instanceof RegExp ? line.search(match) >= 0 : match(line);
}

function withLines(error: unknown, title: string, lines: readonly string[]): unknown {
  if (error instanceof Error) error.message += `\n${title}:\n${lines.slice(-50).join('\n')}`;
  return error;
}
