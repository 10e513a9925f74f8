import type { JsonObject } from '@holdfast/control-protocol';
import type { ProcessIdentity } from './process-identity.ts';

/**
 * One row of the recovery inventory: an execution that was live when its backend was last heard of. Recovery reads rows
 * through a port apart from their single writer and hands them to the runtimes (CONTRACT-04).
 */
export interface ExecutionRecord {
  readonly executionId: string;
  readonly sessionId: string;
  readonly taskId: string;
  /** The kind of the runtime that launched it, e.g. `standalone`. */
  readonly runtime: string;
  /** The control server it was launched on, e.g. `standalone` or `docker:<container id>`. */
  readonly scope: string;
  /** The server of that scope by its own id; null in rows of a time when it was not written down. */
  readonly serverId: string | null;
  readonly instanceId: string;
  /** The agent, once it runs; null before that, and where the runtime could not tell (SURVIVAL-003.6). */
  readonly agentProcess: ProcessIdentity | null;
  /** The agent profile: the name under which the host knows how to run the agent. */
  readonly agentProfileId: string;
  readonly workspacePath: string;
  /** Set where the runtime has containers. */
  readonly containerId: string | null;
  /** Null when it could not be read: then the row is a failed read, and no other row suffers for it (SURVIVAL-002.11, .13). */
  readonly metadata: JsonObject | null;
  /**
   * From the durable session row: passthrough sessions are neither guarded nor re-tracked. Null when it could not be
   * read, which is treated as managed (SURVIVAL-005.3).
   */
  readonly sessionMode: 'managed' | 'passthrough' | null;
}
