import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What the bare adoption reads of the record of the control server. */
export interface BareRecord {
  readonly endpoint: string;
  readonly credentialRef: string;
}

/** The ledger's file and the secrets beside it, without the ledger and the secret store. */
export class BareStore {
  readonly #home: string;
  readonly #database: DatabaseSync;

  constructor(home: string) {
    this.#home = home;
    this.#database = new DatabaseSync(join(home, 'ledger.db'));
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  }

  /** The execution ids of the rows that claim a live process. */
  liveExecutions(): ReadonlySet<string> {
    const rows = this.#database.prepare('SELECT * FROM executions WHERE live = 1').all();
    return new Set(rows.map((row) => String(row['execution_id'])));
  }

  readRecord(): BareRecord {
    const row = this.#database.prepare('SELECT * FROM control_servers').get();
    return { endpoint: String(row?.['endpoint']), credentialRef: String(row?.['credential_ref']) };
  }

  /** Replaces the record's row as a whole, in one transaction. */
  writeRecord(record: {
    readonly serverId: string;
    readonly credentialRef: string;
    readonly capabilities: readonly string[];
    readonly logFile: string;
    readonly startedAt: string;
  }): void {
    const { serverId, credentialRef, capabilities, logFile, startedAt } = record;
    this.#database
      .prepare(
        'UPDATE control_servers SET server_id = ?, credential_ref = ?, capabilities = ?, log_file = ?, started_at = ?, updated_at = ?',
      )
      .run(serverId, credentialRef, JSON.stringify(capabilities), logFile, startedAt, Date.now());
  }

  async readSecret(reference: string): Promise<string> {
    const text = await readFile(join(this.#home, 'secrets', reference), 'utf8');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
    return (JSON.parse(text) as { secret: string }).secret;
  }

  /** Writes a secret durably, file and folder, and gives its reference. */
  async writeSecret(secret: string): Promise<string> {
    const reference = randomBytes(16).toString('hex');
    const path = join(this.#home, 'secrets', reference);
    const file = await open(`${path}.new`, 'wx', 0o600);
    await file.writeFile(JSON.stringify({ version: 1, secret }));
    await file.sync();
    await file.close();
    await rename(`${path}.new`, path);
    const folder = await open(join(this.#home, 'secrets'), 'r');
    await folder.sync();
    await folder.close();
    return reference;
  }

  async removeSecret(reference: string): Promise<void> {
    await rm(join(this.#home, 'secrets', reference));
  }
}
