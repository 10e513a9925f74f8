import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from './field-checks.ts';

/** A `session/update` as it goes over the wire; any variant. */
export interface Update {
  readonly sessionUpdate: string;
  readonly [field: string]: unknown;
}

/** The history of sessions: one file of JSON lines for each, in one folder that is made when it is needed. */
export class SessionStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  create(sessionId: string): void {
    mkdirSync(this.#folder, { recursive: true });
    appendFileSync(this.#file(sessionId), '', { mode: 0o600 });
  }

  remember(sessionId: string, update: Update): void {
    appendFileSync(this.#file(sessionId), `${JSON.stringify(update)}\n`);
  }

  /** All that was remembered, oldest first; `undefined` when there is no such session. */
  history(sessionId: string): readonly Update[] | undefined {
    if (!/^[\w-]+$/.test(sessionId)) return undefined; // it becomes a file name
    let lines: string[];
    try {
      lines = readFileSync(this.#file(sessionId), 'utf8').split('\n');
    } catch {
      return undefined;
    }
    // What follows the last line end is nothing, or the half of a line that a crash left.
    return lines.slice(0, -1).map(readUpdate);
  }

  #file(sessionId: string): string {
    return join(this.#folder, `${sessionId}.jsonl`);
  }
}

function readUpdate(line: string): Update {
  const update: unknown = JSON.parse(line);
  if (!isObject(update) || typeof update['sessionUpdate'] !== 'string') {
    throw new Error(`The session history holds a line that is no update: ${line}`);
  }
  return { ...update, sessionUpdate: update['sessionUpdate'] };
}
