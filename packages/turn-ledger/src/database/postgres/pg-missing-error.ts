/** The package that talks to PostgreSQL is not installed. It is an optional peer dependency. */
export class PgMissingError extends Error {
  override readonly name = 'PgMissingError';
  readonly code = 'pg_missing';

  constructor(cause: unknown) {
    super(
      'A ledger in PostgreSQL needs the package pg, which is not installed; add it to your application.',
      {
        cause,
      },
    );
  }
}
