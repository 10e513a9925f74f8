import { JsonObject } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerSchema } from '../database/schema.ts';
import { SESSION_MODES, type SessionMode } from '../sessions/session-state.ts';

/** A process, told from later ones of the same pid. */
export interface AgentProcess {
  readonly pid: number;
  /** Opaque; comparable for equality only. */
  readonly startTime: string;
}

/** One row of the recovery inventory: an execution that was live when its backend was last heard of. */
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
  /** The agent, once it runs and where that could be told. */
  readonly agentProcess: AgentProcess | null;
  readonly agentProfileId: string;
  readonly workspacePath: string;
  /** Set where the runtime has containers. */
  readonly containerId: string | null;
  /** Null when it could not be read, which keeps no other row from being read (SURVIVAL-002.11). */
  readonly metadata: JsonObject | null;
  /** From the session's row; null when it could not be read, which is treated as managed (SURVIVAL-005.3). */
  readonly sessionMode: SessionMode | null;
}

/** The read port that recovery gets; the host keeps the writer to itself (CONTRACT-04). */
export interface ExecutionRecords {
  /** The rows that claim a live process, the oldest first; of one session where that is given. */
  listLive(filter?: { readonly sessionId?: string }): Promise<readonly ExecutionRecord[]>;
}

export function executionRecords(database: LedgerDatabase): ExecutionRecords {
  return {
    async listLive({ sessionId } = {}) {
      const rows = await database.read(async (db) => {
        const live = db
          .selectFrom('executions')
          .leftJoin('sessions', 'sessions.session_id', 'executions.session_id')
          .selectAll('executions')
          .select('sessions.mode')
          .where('live', '=', 1)
          .orderBy('executions.created_at')
          .orderBy('execution_id');
        const wanted = sessionId === undefined ? live : live.where('executions.session_id', '=', sessionId);
        return await wanted.execute();
      });
      return rows.map((row) => ({
        executionId: row.execution_id,
        sessionId: row.session_id,
        taskId: row.task_id,
        runtime: row.runtime,
        scope: row.scope,
        serverId: row.server_id,
        instanceId: row.instance_id,
        agentProcess: agentProcessOf(row),
        agentProfileId: row.agent_profile_id,
        workspacePath: row.workspace_path,
        containerId: row.container_id,
        metadata: metadataOf(row.metadata),
        sessionMode: z.enum(SESSION_MODES).nullable().catch(null).parse(row.mode),
      }));
    },
  };
}

function metadataOf(text: string): JsonObject | null {
  try {
    return JsonObject.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function agentProcessOf({
  agent_pid: pid,
  agent_start_time: startTime,
}: Pick<LedgerSchema['executions'], 'agent_pid' | 'agent_start_time'>): AgentProcess | null {
  return pid === null || startTime === null ? null : { pid, startTime };
}
