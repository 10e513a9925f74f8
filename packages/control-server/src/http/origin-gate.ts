import type { IncomingHttpHeaders } from 'node:http';
import { ControlError } from '@holdfast/control-protocol';

/**
 * Throws unless a request names this server and comes from no browser: neither a web page nor a name that was rebound to this
 * address may reach it.
 */
export function checkOrigin(headers: IncomingHttpHeaders, hosts: ReadonlySet<string>): void {
  if (!hosts.has((headers.host ?? '').toLowerCase())) {
    throw new ControlError('host_rejected', 'The Host header names no address that this server listens on.');
  }
  if (headers.origin !== undefined) {
    throw new ControlError(
      'origin_rejected',
      'Requests with an Origin header are not taken: no browser is a client.',
    );
  }
}

/** The credential of an `Authorization: Bearer` header, if there is one. */
export function bearerOf(headers: IncomingHttpHeaders): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(headers.authorization ?? '')?.[1];
}
