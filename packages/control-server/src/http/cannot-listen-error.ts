/** The server cannot listen where it was told to. */
export class CannotListenError extends Error {
  override readonly name = 'CannotListenError';
  readonly code = 'cannot_listen';
  readonly host: string;
  readonly port: number;

  constructor(facts: { host: string; port: number; why: string; cause?: unknown }) {
    const { host, port, why, cause } = facts;
    super(
      `Cannot listen on ${host} port ${String(port)}: ${why}. Choose another port, or 0 for a free one.`,
      cause === undefined ? undefined : { cause },
    );
    this.host = host;
    this.port = port;
  }
}
