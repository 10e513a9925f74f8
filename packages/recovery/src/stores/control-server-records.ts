import type { ControlServerRecord } from '@holdfast/executor-contract';

/** Where the one record of each control-server scope is kept (OWNERSHIP-001.1). */
export interface ControlServerRecords {
  /** The record of a scope, or null where there is none. Rejects when that cannot be told. */
  read(scope: string): Promise<ControlServerRecord | null>;
  /** Writes the record in place of the scope's old one; resolves once that is durable. */
  write(record: ControlServerRecord): Promise<void>;
}
