import type {
  ExecutionRecord,
  ExecutorRuntime,
  Ownership,
  OwnedControlServer,
} from '@holdfast/executor-contract';
import {
  judgeRow,
  takeEnumerations,
  type Enumerations,
  type LivenessPorts,
  type RowLiveness,
  type SessionGuards,
} from '@holdfast/recovery';

/** What a host tells the liveness of rows from. */
export interface HostLivenessParts {
  readonly survival: boolean;
  readonly runtimes: ReadonlyMap<string, ExecutorRuntime>;
  /** The control servers that this host drives. */
  readonly servers: () => readonly OwnedControlServer[];
  readonly ownership: Pick<Ownership, 'refusedServer'>;
  readonly guards: SessionGuards;
}

/** Tells of rows whether their processes are there, as `50-recovery.md` has it. Changes nothing but what it remembers. */
export class HostLiveness {
  readonly #parts: HostLivenessParts;
  readonly #launchedHere = new Set<string>();
  /** Sessions whose agent this host is stopping. */
  readonly #stopping = new Set<string>();
  #recoveryIsOver = false;

  constructor(parts: HostLivenessParts) {
    this.#parts = parts;
  }

  /** This host has written the row down. */
  launched(executionId: string): void {
    this.#launchedHere.add(executionId);
  }

  /** Every inherited row has its outcome; from here on servers are asked. */
  recoveryIsOver(): void {
    this.#recoveryIsOver = true;
  }

  /** Runs the stop of a session's agent; meanwhile nothing certain is said about it. */
  async whileStopping<T>(sessionId: string, stop: () => Promise<T>): Promise<T> {
    this.#stopping.add(sessionId);
    try {
      return await stop();
    } finally {
      this.#stopping.delete(sessionId);
    }
  }

  /** A fresh enumeration of every control server of this host. */
  async enumerate(signal: AbortSignal): Promise<Enumerations> {
    const servers = this.#parts.servers().filter(({ lost }) => !lost.aborted);
    return await takeEnumerations(servers, signal);
  }

  /** One pass over rows: all of them by the same enumeration (SURVIVAL-003.6). */
  async pass(
    rows: readonly ExecutionRecord[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<ExecutionRecord, RowLiveness>> {
    if (rows.length === 0) return new Map();
    const enumerations = await this.enumerate(signal);
    const ports = this.#portsFor(signal);
    const judged = await Promise.all(
      rows.map(async (row) => [row, await judgeRow(row, enumerations, ports)] as const),
    );
    return new Map(judged);
  }

  /** One row by an enumeration that was taken. */
  async judge(row: ExecutionRecord, enumerations: Enumerations, signal: AbortSignal): Promise<RowLiveness> {
    return await judgeRow(row, enumerations, this.#portsFor(signal));
  }

  /** For one pass: a server that refused us is asked once for all rows of its scope. */
  #portsFor(signal: AbortSignal): LivenessPorts {
    const { survival, runtimes, ownership } = this.#parts;
    const refused = new Map<string, ReturnType<LivenessPorts['refusedServer']>>();
    return {
      survival,
      standingOf: (row) => this.#standingOf(row),
      refusedServer: async (scope) => {
        const asked = refused.get(scope) ?? ownership.refusedServer(scope, signal);
        refused.set(scope, asked);
        return await asked;
      },
      probe: async (row) => {
        const runtime = runtimes.get(row.runtime);
        if (runtime !== undefined) return await runtime.probe(row, signal);
        return {
          process: 'unknown',
          detail: `this host has no runtime ${row.runtime} to look for its agent`,
        };
      },
    };
  }

  #standingOf({ executionId, sessionId }: ExecutionRecord): ReturnType<LivenessPorts['standingOf']> {
    if (this.#launchedHere.has(executionId)) return 'launched_here';
    if (!this.#recoveryIsOver) return 'recovering';
    const isStopping = this.#stopping.has(sessionId) || this.#parts.guards.isRecovering(sessionId);
    return isStopping ? 'stop_in_flight' : 'inherited';
  }
}
