import type { OwnedControlServer, Ownership } from '@holdfast/executor-contract';

/** Ownership, and the servers that came of it. */
export interface KnownServers {
  readonly ownership: Ownership;
  /** The last server of each scope that this host came to own, unless it has ended. */
  readonly servers: () => readonly OwnedControlServer[];
}

/** Remembers the servers that runtimes come to own, and sees to it that one that was lost is left alone when the host closes. */
export function knownServers(ownership: Ownership): KnownServers {
  const servers = new Map<string, OwnedControlServer>();
  const know = (server: OwnedControlServer): OwnedControlServer => {
    const known = leftAloneWhenLost(server);
    servers.set(server.scope, known);
    return known;
  };
  return {
    servers: () => [...servers.values()].filter(({ ended }) => !ended.aborted),
    ownership: {
      async adopt(scope, dial, signal) {
        const result = await ownership.adopt(scope, dial, signal);
        return result.kind === 'adopted' ? { ...result, server: know(result.server) } : result;
      },
      async bootstrap(scope, fresh, signal) {
        return know(await ownership.bootstrap(scope, fresh, signal));
      },
      async endSurvivor(scope, dial, signal) {
        return await ownership.endSurvivor(scope, dial, signal);
      },
      async refusedServer(scope, signal) {
        return await ownership.refusedServer(scope, signal);
      },
    },
  };
}

/** Another backend drives a lost server: it is neither stopped nor said to be let go (OWNERSHIP-002.3). */
function leftAloneWhenLost(server: OwnedControlServer): OwnedControlServer {
  return {
    ...server,
    async release() {
      if (!server.lost.aborted) await server.release();
    },
    async shutdown() {
      if (!server.lost.aborted) await server.shutdown();
    },
  };
}
