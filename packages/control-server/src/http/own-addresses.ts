/** Where a server listens, and by which names it may be reached. */
export interface OwnAddresses {
  /** What it is reached at, e.g. `http://127.0.0.1:4321`. */
  readonly endpoint: string;
  /** The `host:port` values that a request may name in its `Host` header. */
  readonly hosts: ReadonlySet<string>;
  /** The `host:port` values that are this server and nothing else: the audiences that it proves ownership to. */
  readonly audiences: ReadonlySet<string>;
}

const WILDCARDS = new Set(['0.0.0.0', '::']);

/**
 * The addresses of a server that was asked to listen on `listenHost` and got `boundAddress` and `port`. For a wildcard,
 * `interfaceAddresses` are the machine's own.
 */
export function ownAddresses(facts: {
  readonly listenHost: string;
  readonly boundAddress: string;
  readonly port: number;
  readonly interfaceAddresses: readonly string[];
}): OwnAddresses {
  const { listenHost, boundAddress, port, interfaceAddresses } = facts;
  const isWildcard = WILDCARDS.has(boundAddress);
  const bound = isWildcard ? interfaceAddresses : [boundAddress];
  const withPort = (host: string): string => `${bracketed(host)}:${String(port)}`;
  // A name such as localhost is no audience: its other address may be somebody else's.
  const audiences = new Set(bound.map(withPort));
  const named = [...['localhost', '127.0.0.1', '::1', listenHost.toLowerCase()].map(withPort), ...audiences];
  // The port of HTTP itself is left out of the header.
  const hosts = new Set(port === 80 ? named.flatMap((host) => [host, host.replace(/:80$/, '')]) : named);
  const reachedAt = isWildcard ? (boundAddress === '::' ? '::1' : '127.0.0.1') : boundAddress;
  return { endpoint: `http://${withPort(reachedAt)}`, hosts, audiences };
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
