import type { Log } from '../diagnostics/log.ts';
import type { NoiseKind } from './acp-message.ts';

/** Counts the lines of an agent that are no messages for us, and says so each time their number of a kind has grown tenfold. */
export class NoiseLog {
  readonly #log: Log;
  readonly #instanceId: string;
  readonly #lines = new Map<NoiseKind, number>();

  constructor(log: Log, instanceId: string) {
    this.#log = log;
    this.#instanceId = instanceId;
  }

  /** One more line, of that many bytes. What it says is never told: it may be anything. */
  note(noise: NoiseKind, bytes: number): void {
    const lines = (this.#lines.get(noise) ?? 0) + 1;
    this.#lines.set(noise, lines);
    if (!Number.isInteger(Math.log10(lines))) return;
    this.#log.info(
      { instanceId: this.#instanceId, noise, lines, bytes },
      'an agent sends lines that are no messages for us',
    );
  }
}
