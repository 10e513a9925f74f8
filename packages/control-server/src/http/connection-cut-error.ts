/** The connection ended, or is to end, before there was an answer: there is nobody to answer. */
export class ConnectionCutError extends Error {
  override readonly name = 'ConnectionCutError';
  readonly code = 'connection_cut';

  constructor() {
    super('The connection ended before the request was answered.');
  }
}
