import { Id, Scope, Timestamp } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import { checkInput, readStored, readStoredJson, StorableText } from '../database/stored-values.ts';

/**
 * What is written down about the control server of a scope (OWNERSHIP-001.1). The credential itself is in a secret store;
 * the record holds a reference to it.
 */
export interface ControlServerRecord {
  readonly scope: string;
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  readonly serverId: string;
  readonly credentialRef: string;
  /** The capability set observed at start or adoption. */
  readonly capabilities: readonly string[];
  readonly logFile: string;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
}

/** The records of control servers, one for each scope. */
export interface ControlServers {
  /** Null where there is none. Throws {@link LedgerRowError} when what is stored is not a record. */
  read(scope: string): Promise<ControlServerRecord | null>;
  /** Durably replaces the record of its scope as a whole. */
  write(record: ControlServerRecord): Promise<void>;
  remove(scope: string): Promise<void>;
}

const RecordSchema = z.object({
  scope: Scope,
  endpoint: z.url({ protocol: /^https?$/ }),
  serverId: Id,
  credentialRef: StorableText,
  capabilities: z.array(StorableText),
  logFile: StorableText,
  startedAt: Timestamp,
});

export function controlServerStore(database: LedgerDatabase, clock: () => number): ControlServers {
  return {
    async read(scope) {
      const row = await database.read(
        async (db) =>
          await db.selectFrom('control_servers').selectAll().where('scope', '=', scope).executeTakeFirst(),
      );
      if (row === undefined) return null;
      const place = { table: 'control_servers', key: scope };
      return readStored(place, RecordSchema, {
        scope: row.scope,
        endpoint: row.endpoint,
        serverId: row.server_id,
        credentialRef: row.credential_ref,
        capabilities: readStoredJson(place, z.unknown(), row.capabilities),
        logFile: row.log_file,
        startedAt: row.started_at,
      });
    },
    async write(record) {
      const given = checkInput('control server record', RecordSchema, record);
      const values = {
        endpoint: given.endpoint,
        server_id: given.serverId,
        credential_ref: given.credentialRef,
        capabilities: JSON.stringify(given.capabilities),
        log_file: given.logFile,
        started_at: given.startedAt,
        updated_at: clock(),
      };
      await database.transact(
        async (trx) =>
          await trx
            .insertInto('control_servers')
            .values({ scope: given.scope, ...values })
            .onConflict((conflict) => conflict.column('scope').doUpdateSet(values))
            .execute(),
      );
    },
    async remove(scope) {
      await database.transact(
        async (trx) => await trx.deleteFrom('control_servers').where('scope', '=', scope).execute(),
      );
    },
  };
}
