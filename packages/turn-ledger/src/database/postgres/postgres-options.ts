/** How a ledger uses its PostgreSQL server. */
export interface PostgresOptions {
  /** The most connections that are open at a time; 10 unless told. */
  readonly poolSize?: number;
  /** How long to wait for a connection, a new one or one that others use, in milliseconds; 10 s unless told. */
  readonly connectTimeoutMs?: number;
}

/** {@link PostgresOptions}, complete. */
export type PoolSettings = Required<PostgresOptions>;
