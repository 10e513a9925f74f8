import { isNativeError } from 'node:util/types';
import type * as Pg from 'pg';
import { PgMissingError } from './pg-missing-error.ts';

/** Loads `pg`, which only a ledger in PostgreSQL needs. Throws {@link PgMissingError}. */
export async function loadPg(): Promise<typeof Pg> {
  try {
    return await import('pg');
  } catch (error) {
    if (isNativeError(error) && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      throw new PgMissingError(error);
    }
    throw error;
  }
}
