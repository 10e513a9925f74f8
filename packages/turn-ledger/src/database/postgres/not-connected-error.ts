/** No connection could be made, for a reason that nobody foresaw: a certificate, another kind of server. */
export class NotConnectedError extends Error {
  override readonly name = 'NotConnectedError';

  constructor(cause: unknown) {
    super('No connection to the PostgreSQL server could be made.', { cause });
  }
}
