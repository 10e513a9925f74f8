import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { BareEvent } from './bare-messages.ts';

const COLUMNS = ['execution_id', 'seq', 'session_id', 'position', 'at', 'event'];

/** A table with the columns and keys of the ledger's, commits as durable as its, and nothing else. */
export class BareEventsTable {
  readonly #database: DatabaseSync;
  readonly #inserts = new Map<number, StatementSync>();

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    this.#database.exec(
      'CREATE TABLE events (execution_id TEXT NOT NULL, seq BIGINT NOT NULL, session_id TEXT NOT NULL, ' +
        'position BIGINT NOT NULL, at TEXT NOT NULL, event TEXT NOT NULL, ' +
        'PRIMARY KEY (execution_id, seq), UNIQUE (session_id, position))',
    );
  }

  /** Stores a batch of one agent with one INSERT, which is one transaction. */
  insert(agent: string, events: readonly BareEvent[]): void {
    const values: SQLInputValue[] = events.flatMap(({ seq, at, event }) => [
      agent,
      seq,
      agent,
      seq,
      at,
      JSON.stringify(event),
    ]);
    this.#insertOf(events.length).run(...values);
  }

  close(): void {
    this.#database.close();
  }

  #insertOf(rows: number): StatementSync {
    const known = this.#inserts.get(rows);
    if (known !== undefined) return known;
    const row = `(${COLUMNS.map(() => '?').join(', ')})`;
    const rowsText = Array.from({ length: rows }, () => row).join(', ');
    const statement = this.#database.prepare(`INSERT INTO events (${COLUMNS.join(', ')}) VALUES ${rowsText}`);
    this.#inserts.set(rows, statement);
    return statement;
  }
}
