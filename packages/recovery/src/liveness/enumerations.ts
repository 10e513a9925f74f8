import type { Enumeration, ExecutionRecord, OwnedControlServer } from '@holdfast/executor-contract';
import type { Presence } from './classify-liveness.ts';

/** A control server that this backend drives, as far as an enumeration needs it. */
export type EnumeratedServer = Pick<OwnedControlServer, 'scope' | 'serverId' | 'enumerate'>;

/** What one control server said. */
interface Enumerated {
  readonly serverId: string;
  readonly enumeration: Enumeration;
}

/** One enumeration of every control server in use: within a pass all rows are judged by the same (SURVIVAL-003.6). */
export class Enumerations {
  readonly #byScope: ReadonlyMap<string, Enumerated>;

  /** One entry a scope. */
  constructor(byScope: ReadonlyMap<string, Enumerated>) {
    this.#byScope = byScope;
  }

  /**
   * Whether the row's instance is on the server of its scope. `elsewhere`: that is not the server it was launched on, or there is
   * none, so its absence says nothing.
   */
  presenceOf(
    row: Pick<ExecutionRecord, 'scope' | 'serverId' | 'instanceId' | 'sessionId'>,
  ): Presence | 'elsewhere' {
    const found = this.#byScope.get(row.scope);
    if (found === undefined) return 'elsewhere';
    const { serverId, enumeration } = found;
    if (enumeration.kind === 'enumerated') {
      // Recovery may have given the session an instance that its row does not name (SURVIVAL-002.2).
      const own = enumeration.instances.some(
        ({ instanceId, sessionId }) => instanceId === row.instanceId || sessionId === row.sessionId,
      );
      if (own) return 'present';
    }
    if (row.serverId !== serverId) return 'elsewhere';
    return enumeration.kind === 'enumerated' ? 'absent' : 'unanswered';
  }

  /** The instances of a session on all servers, whether or not a row names them. */
  instancesOf(sessionId: string): ReadonlyArray<{ readonly scope: string; readonly instanceId: string }> {
    return [...this.#byScope].flatMap(([scope, { enumeration }]) =>
      enumeration.kind === 'not_enumerated'
        ? []
        : enumeration.instances
            .filter((instance) => instance.sessionId === sessionId)
            .map(({ instanceId }) => ({ scope, instanceId })),
    );
  }
}

/** Reads the instances of these servers, each on the read budget. Rejects with the signal's reason only. */
export async function takeEnumerations(
  servers: readonly EnumeratedServer[],
  signal: AbortSignal,
): Promise<Enumerations> {
  const entries = await Promise.all(
    servers.map(async (server) => {
      const enumeration = await server.enumerate(signal);
      return [server.scope, { serverId: server.serverId, enumeration }] as const;
    }),
  );
  return new Enumerations(new Map(entries));
}
