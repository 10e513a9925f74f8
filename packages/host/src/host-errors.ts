import { inspect } from 'node:util';

/** The errors of the host: each has a stable `code` and its facts as fields. */
export abstract class HostError extends Error {
  abstract readonly code: string;
}

/** An option of `createHost` or of a session that is not accepted: nothing was started. */
export class HostOptionError extends HostError {
  override readonly name = 'HostOptionError';
  readonly code = 'host_option_not_accepted';
  readonly option: string;

  constructor(option: string, value: unknown, accepted: string) {
    super(`${option} = ${inspect(value)} is not accepted; it must be ${accepted}`);
    this.option = option;
  }
}

/** The host was closed while the call waited. Agents that were kept go on; the next host tells the rest. */
export class HostClosedError extends HostError {
  override readonly name = 'HostClosedError';
  readonly code = 'host_closed';

  constructor() {
    super('the host was closed');
  }
}
