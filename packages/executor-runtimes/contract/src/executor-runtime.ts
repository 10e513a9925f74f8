import type { Instance } from '@holdfast/control-protocol';
import type { ExecutionRecord } from './execution-record.ts';
import type { OwnedControlServer, Ownership, RefusalReason } from './ownership.ts';
import type { ProcessEvidence, ProcessIdentity } from './process-identity.ts';

/** What a runtime can do. */
export interface RuntimeTraits {
  /** Its control servers and agents can outlive the backend. */
  readonly survivesRestart: boolean;
  /** Agents do not run on the backend's own machine. */
  readonly remote: boolean;
  /**
   * npm's cache stays where agents run from one start to the next, and its installed copies of agents can be removed there
   * (RUNTIME-001.2).
   */
  readonly repairsNpmRuntimes: boolean;
}

/** What opening a runtime came to for one control-server scope. */
export interface ScopeReport {
  readonly scope: string;
  /** `none`: there is no server now, and the next launch tries again. */
  readonly server: 'adopted' | 'started' | 'none';
  /** Why a server on record was not adopted. */
  readonly refusal: RefusalReason | null;
  /** One sentence for a person; never holds a secret. */
  readonly detail: string;
  /** What puts the server or its agents at risk though it could be had; one sentence each, for a person. Never a secret. */
  readonly warnings: readonly string[];
}

/** The instances of an adopted control server, or why they could not be read. */
export type ScopeEnumeration =
  | {
      readonly kind: 'enumerated';
      readonly scope: string;
      readonly server: OwnedControlServer;
      readonly instances: readonly Instance[];
    }
  /** Recover nothing, stop nothing, start no second server (SURVIVAL-002.12). */
  | { readonly kind: 'not_enumerated'; readonly scope: string; readonly detail: string };

/** What to launch: an instance without an agent yet; its agent is started through the server's client. */
export interface LaunchRequest {
  readonly executionId: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly workspacePath: string;
  readonly workspaceSourceRoots: readonly string[];
  /** Reaches the agent and nothing else. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface LaunchedInstance {
  readonly server: OwnedControlServer;
  readonly instance: Instance;
}

/** One way to run control servers. All its methods may be called by the host that owns the installation only. */
export interface ExecutorRuntime {
  readonly kind: string;
  readonly traits: RuntimeTraits;
  /**
   * Adopts or starts the control server of each scope that the runtime knows, unless it has one that has not ended. With survival off it ends own survivors
   * instead and starts servers that die with the backend. Adoptions under way are not cut by the signal.
   */
  open(signal: AbortSignal): Promise<readonly ScopeReport[]>;
  /** Enumerates the instances of adopted servers (CONTRACT-05). Needs no database: the rows are handed in. */
  recoverInstances(
    records: readonly ExecutionRecord[],
    signal: AbortSignal,
  ): Promise<readonly ScopeEnumeration[]>;
  /**
   * Names a process where the runtime runs its agents, so that it can be told from a later one of the same pid. Null when it is
   * not there, or cannot be named.
   */
  identify(pid: number, signal: AbortSignal): Promise<ProcessIdentity | null>;
  /**
   * Looks for the agent of a row, without its control server. Unreachable is not ended: a doubt is `unknown`. Rejects with the
   * signal's reason only.
   */
  probe(record: ExecutionRecord, signal: AbortSignal): Promise<ProcessEvidence>;
  /**
   * Creates an instance; opens a server first where there is none, or where the one there was has ended. Whether the session has an agent already is the caller's to
   * know.
   */
  launch(request: LaunchRequest, signal: AbortSignal): Promise<LaunchedInstance>;
  /** Lets go of every server without stopping anything. */
  detach(): Promise<void>;
  /** Stops every server with its agents. */
  close(): Promise<void>;
}

/** What a host hands to a runtime. */
export interface RuntimeContext {
  /** The resolved home directory of the installation. */
  readonly home: string;
  readonly ownership: Ownership;
  /** Whether control servers outlive the backend. */
  readonly survival: boolean;
  /** The program and arguments that start a control server on this machine. */
  readonly serverCommand: readonly string[];
  /** The settings that a control server reads, as its environment (CONTRACT-16). */
  readonly serverSettings: Readonly<Record<string, string>>;
  /** The backend's own environment; a runtime passes on only what its documentation says. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Makes a runtime for one host, e.g. what `standalone()` returns. */
export interface RuntimeFactory {
  readonly kind: string;
  create(context: RuntimeContext): ExecutorRuntime;
}
