import { fileURLToPath } from 'node:url';
import { startProgram, type StartedProgram } from '@holdfast/testbeds';

/** A program of the benchmarks in a process group of its own, that is told things and answers, one JSON line each. */
export class Program implements AsyncDisposable {
  readonly #started: StartedProgram;
  readonly #url: URL;

  private constructor(started: StartedProgram, url: URL) {
    this.#started = started;
    this.#url = url;
  }

  /** Starts the source file with these arguments; its working directory shows whose it is. */
  static async start(url: URL, folder: string, ...args: readonly string[]): Promise<Program> {
    const command = [
      process.execPath,
      '--conditions=@holdfast/source',
      '--disable-warning=ExperimentalWarning',
      fileURLToPath(url),
      ...args,
    ];
    return new Program(await startProgram(command, { cwd: folder, env: { NODE_OPTIONS: undefined } }), url);
  }

  /** What it says next. `Message` is what this very program tells; a program that ends instead is an error. */
  async next<Message>(withinMs: number): Promise<Message> {
    try {
      const line = await this.#started.nextLine('{', { withinMs });
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end of this pipe is our own program
      return JSON.parse(line) as Message;
    } catch (error) {
      const complaint = this.#started.lines('stderr').join('\n');
      throw new Error(`${fileURLToPath(this.#url)} did not answer:\n${complaint}`, { cause: error });
    }
  }

  tell(message: unknown): void {
    this.#started.write(`${JSON.stringify(message)}\n`);
  }

  /** Kills it as a crash would, and waits for its end. What it started in a session of its own lives on. */
  async crash(): Promise<void> {
    this.#started.kill('SIGKILL');
    await this.#started.exited;
  }

  /** Closes its input, upon which it ends by itself, and waits for that. */
  async end(): Promise<void> {
    this.#started.endInput();
    const { exitCode } = await this.#started.exited;
    if (exitCode !== 0) throw new Error(`${fileURLToPath(this.#url)} ended with code ${String(exitCode)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started[Symbol.asyncDispose]();
  }
}
