import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from '@holdfast/testbeds';

const FOLDER = fileURLToPath(new URL('../../coverage/', import.meta.url));

/** Numbers that a run of real agents gives by the way; nothing is judged by them. */
export class Measurements {
  readonly #taken: Record<string, number[]> = {};

  note(what: string, value: number): void {
    (this.#taken[what] ??= []).push(value);
  }

  /** Notes how much memory these processes hold together, in MB; what they share counts for each. */
  async noteMemory(what: string, pids: readonly number[]): Promise<void> {
    const { stdout } = await runProgram(['ps', '-o', 'rss=', '-p', pids.join(',')], { timeoutMs: 10_000 });
    const kilobytes = stdout.split('\n').reduce((sum, line) => sum + Number(line), 0);
    this.note(what, Math.round(kilobytes / 1024));
  }

  /** Writes all of them to coverage/measurements-<name>.json. */
  async write(facts: { readonly name: string; readonly [fact: string]: string }): Promise<void> {
    await mkdir(FOLDER, { recursive: true });
    const file = join(FOLDER, `measurements-${facts.name.replace('/', '+')}.json`);
    await writeFile(file, `${JSON.stringify({ ...facts, ...this.#taken }, null, 2)}\n`);
  }
}
