import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { startProgram, until, waitForExit, type StartedProgram } from '@holdfast/testbeds';
import type { BackendOptions, Order, Told, ToldOf } from '../fixtures/backend-lines.ts';

const PROGRAM = fileURLToPath(new URL('../fixtures/backend.ts', import.meta.url));

// Real agents take their time, and the machine may be busy.
const WITHIN_MS = 120_000;

/** A backend in a process of its own. Disposing it kills it with its process group, by SIGKILL. */
export class Backend implements AsyncDisposable {
  readonly #program: StartedProgram;

  private constructor(program: StartedProgram) {
    this.#program = program;
  }

  /** Starts it; `file` is where it finds its options. */
  static async start(file: string, options: BackendOptions): Promise<Backend> {
    await writeFile(file, JSON.stringify(options));
    return new Backend(
      await startProgram([process.execPath, '--conditions=@holdfast/source', PROGRAM, file]),
    );
  }

  /** All that it told so far. */
  get told(): readonly Told[] {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fixture writes nothing else
    return this.#program.lines().map((line) => JSON.parse(line) as Told);
  }

  all<Kind extends Told['told']>(kind: Kind): readonly ToldOf<Kind>[] {
    return this.told.filter((told): told is ToldOf<Kind> => told.told === kind);
  }

  /** The first line of that kind to which the question says yes. */
  async tells<Kind extends Told['told']>(
    kind: Kind,
    question: (told: ToldOf<Kind>) => boolean = () => true,
  ): Promise<ToldOf<Kind>> {
    try {
      return await until(() => this.all(kind).find(question), { reason: `"${kind}"`, withinMs: WITHIN_MS });
    } catch (error) {
      const complaints = this.#program.lines('stderr').slice(-20).join('\n');
      const last = this.#program.lines().slice(-5).join('\n');
      throw new Error(`The backend did not tell "${kind}". It told last:\n${last}\n${complaints}`, {
        cause: error,
      });
    }
  }

  order(order: Order): void {
    this.#program.write(`${JSON.stringify(order)}\n`);
  }

  /** Sends a prompt; gives the id of its turn. */
  async prompt(text: string): Promise<string> {
    const before = this.all('prompted').length;
    this.order({ do: 'prompt', text });
    const prompted = await until(() => this.all('prompted')[before] ?? this.#failure(), {
      reason: 'the prompt to be accepted',
      withinMs: WITHIN_MS,
    });
    return prompted.turnId;
  }

  /** Throws what the backend told to have failed, if anything did. */
  #failure(): undefined {
    const failed = this.all('error')[0];
    if (failed !== undefined) throw new Error(`${failed.what} failed: ${failed.message}`);
  }

  /** Stops the agent and waits for the end of the backend. */
  async close(): Promise<void> {
    this.order({ do: 'close' });
    await this.tells('closed');
    await waitForExit(this.#program.pid, { withinMs: WITHIN_MS, reason: 'it closed its host' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}
