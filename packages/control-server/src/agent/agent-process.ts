import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { AgentExit } from '@holdfast/control-protocol';
import type { z } from 'zod';
import type { Clock } from '../ports/clock.ts';
import { readLines } from './line-reader.ts';
import { findProcess, type ProcessEntry } from './process-table.ts';
import type { StderrTail } from './stderr-tail.ts';

/** How an agent's process ended. */
export type Exit = z.infer<typeof AgentExit>;

/** What to run, where, and with what environment; no shell is involved. */
export interface AgentProcessOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stderr: StderrTail;
  readonly clock: Clock;
}

// A descendant may hold the agent's pipe open for ever: after the exit, silence of this length counts as the end,
const SILENCE_AFTER_EXIT_MS = 500;
// and so does more than the pipe can have held of the agent itself.
const BYTES_AFTER_EXIT = 4 * 1024 * 1024;

/** The process of an agent: leader of a session of its own, spoken to through its pipes. */
export class AgentProcess {
  readonly pid: number;
  /** Settles when the process has ended. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Settles when it has closed its end of its stdin, which shows at the first write. Never rejects. */
  readonly inputBroken: Promise<void>;
  /** Settles when all of its stderr has been read; others may hold it open. Never rejects. */
  readonly stderrEnd: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #clock: Clock;
  #entry: ProcessEntry | null = null;
  #hasExited = false;
  #isWaiting = false;
  #untakenLines = 0;
  #bytesAfterExit = 0;
  #cancelSilence = (): void => undefined;

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, options: AgentProcessOptions) {
    this.pid = pid;
    this.#child = child;
    this.#clock = options.clock;
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    child.once('exit', (code, signal) => {
      this.#hasExited = true;
      this.#watchSilence();
      resolve({ code, signal });
    });
    // Reading from an agent that has ended is no news: its exit is.
    for (const stream of [child, child.stdout, child.stderr]) stream.on('error', () => undefined);
    this.inputBroken = new Promise((settle) => {
      child.stdin.on('error', () => {
        settle();
      });
    });
    this.stderrEnd = new Promise((resolveEnd) => {
      child.stderr.once('close', resolveEnd);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      options.stderr.add(text);
    });
  }

  /** Starts the process; rejects with the error of the system when that is impossible. */
  static async start(options: AgentProcessOptions): Promise<AgentProcess> {
    const [file = '', ...args] = options.command;
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: options.environment,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const { pid } = child;
    if (pid === undefined) {
      return await new Promise((_resolve, reject) => {
        child.once('error', reject);
      });
    }
    const started = new AgentProcess(child, pid, options);
    try {
      started.#entry = (await findProcess(pid)) ?? null;
      return started;
    } catch (error) {
      // It could not be told from others later on.
      started.kill();
      started.release();
      throw error;
    }
  }

  /** What names it for good; null when it had ended before it could be looked at. */
  get entry(): ProcessEntry | null {
    return this.#entry;
  }

  /** The lines of its stdout, read only as fast as they are taken. Iterate it once, from the start on. */
  lines(maxBytes: number): AsyncGenerator<string, void> {
    return readLines(this.#child.stdout, maxBytes, {
      onWaiting: () => {
        this.#isWaiting = true;
        this.#watchSilence();
      },
      onChunk: (bytes) => {
        this.#isWaiting = false;
        this.#cancelSilence();
        if (this.#hasExited) this.#bytesAfterExit += bytes;
        if (this.#bytesAfterExit > BYTES_AFTER_EXIT) this.#child.stdout.destroy();
      },
    });
  }

  /** Writes one line to its stdin. Never waits. */
  writeLine(line: string): void {
    if (!this.#child.stdin.writable) return;
    this.#untakenLines += 1;
    this.#child.stdin.write(`${line}\n`, () => {
      this.#untakenLines -= 1;
    });
  }

  /** How many lines were written to its stdin that it has not taken. */
  get untakenLines(): number {
    return this.#untakenLines;
  }

  /** How many bytes were written to its stdin that it has not taken. */
  get untakenBytes(): number {
    return this.#child.stdin.writableLength;
  }

  /** Closes its stdin. */
  closeStdin(): void {
    this.#child.stdin.end();
  }

  /** Kills it, and only it. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Lets go of its pipes, for what is left of them. */
  release(): void {
    this.#cancelSilence();
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #watchSilence(): void {
    if (!this.#hasExited || !this.#isWaiting) return;
    this.#cancelSilence();
    this.#cancelSilence = this.#clock.setTimer(SILENCE_AFTER_EXIT_MS, () => {
      this.#child.stdout.destroy();
    });
  }
}
