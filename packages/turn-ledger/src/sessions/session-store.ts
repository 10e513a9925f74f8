import { Id, JsonObject, SessionChoice } from '@holdfast/control-protocol';
import type { Timestamp } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import type { LedgerSchema } from '../database/schema.ts';
import {
  checkInput,
  readStored,
  readStoredJson,
  StorableText,
  toTimestamp,
} from '../database/stored-values.ts';
import { ensureTask } from '../tasks/task-store.ts';
import { SessionExistsError, UnknownSessionError } from './session-errors.ts';
import { SESSION_MODES, SESSION_STATES, type SessionMode, type SessionState } from './session-state.ts';

/** A session to record. */
export interface NewSession {
  readonly sessionId: string;
  /** Recorded too if it is not known yet. */
  readonly taskId: string;
  /** The name under which the host knows how to run the agent. */
  readonly agentProfileId: string;
  /** The kind of the runtime, e.g. `standalone`. */
  readonly runtime: string;
  readonly workspacePath: string;
  readonly mode: SessionMode;
  readonly metadata: JsonObject;
  /** The host's own name for the environment that the session works in; null or left out where it gave none. */
  readonly taskEnvironmentId?: string | null;
}

/** A user's conversation with an agent. */
export interface SessionRecord extends NewSession {
  readonly taskEnvironmentId: string | null;
  readonly state: SessionState;
  /** The agent's own name for the conversation, with which it can resume it; null until the agent has told. */
  readonly providerSessionId: string | null;
  /** What was chosen for it since, oldest first: it is chosen again, in this order, whenever its agent is started. */
  readonly choices: readonly SessionChoice[];
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** Which sessions to list; everything left out is not asked about. */
export interface SessionFilter {
  readonly taskId?: string;
}

/** The sessions of a ledger. */
export interface Sessions {
  /** Records a session in the state `starting`. Throws {@link SessionExistsError}. */
  create(session: NewSession): Promise<SessionRecord>;
  get(sessionId: string): Promise<SessionRecord | null>;
  /** The oldest first. */
  list(filter?: SessionFilter): Promise<readonly SessionRecord[]>;
  /** Throws {@link UnknownSessionError}. */
  setState(sessionId: string, state: SessionState): Promise<void>;
  /** Throws {@link UnknownSessionError}. */
  setProviderSession(sessionId: string, providerSessionId: string | null): Promise<void>;
  /** Replaces what was chosen. Throws {@link UnknownSessionError}. */
  setChoices(sessionId: string, choices: readonly SessionChoice[]): Promise<void>;
}

const NewSessionInput = z.object({
  sessionId: Id,
  taskId: Id,
  agentProfileId: StorableText,
  runtime: StorableText,
  workspacePath: StorableText,
  mode: z.enum(SESSION_MODES),
  metadata: JsonObject,
  taskEnvironmentId: StorableText.nullable().optional(),
});

export function sessionStore(database: LedgerDatabase, clock: () => number): Sessions {
  const update = async (
    sessionId: string,
    change: Partial<Pick<LedgerSchema['sessions'], 'state' | 'provider_session_id' | 'choices'>>,
  ): Promise<void> => {
    const changed = await database.transact(
      async (trx) =>
        await trx
          .updateTable('sessions')
          .set({ ...change, updated_at: clock() })
          .where('session_id', '=', sessionId)
          .returning('session_id')
          .executeTakeFirst(),
    );
    if (changed === undefined) throw new UnknownSessionError({ sessionId });
  };
  return {
    async create(session) {
      const given = checkInput('session', NewSessionInput, session);
      const now = clock();
      return await database.transact(async (trx) => {
        await ensureTask(trx, given.taskId, now);
        const row = await trx
          .insertInto('sessions')
          .values({
            session_id: given.sessionId,
            task_id: given.taskId,
            agent_profile_id: given.agentProfileId,
            runtime: given.runtime,
            workspace_path: given.workspacePath,
            mode: given.mode,
            state: 'starting',
            provider_session_id: null,
            choices: '[]',
            metadata: JSON.stringify(given.metadata),
            task_environment_id: given.taskEnvironmentId ?? null,
            turn_count: 0,
            event_count: 0,
            created_at: now,
            updated_at: now,
          })
          .onConflict((conflict) => conflict.column('session_id').doNothing())
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw new SessionExistsError({ sessionId: given.sessionId });
        return toRecord(row);
      });
    },
    async get(sessionId) {
      const row = await database.read(
        async (db) =>
          await db.selectFrom('sessions').selectAll().where('session_id', '=', sessionId).executeTakeFirst(),
      );
      return row === undefined ? null : toRecord(row);
    },
    async list({ taskId } = {}) {
      const rows = await database.read(async (db) => {
        const all = db.selectFrom('sessions').selectAll().orderBy('created_at').orderBy('session_id');
        return await (taskId === undefined ? all : all.where('task_id', '=', taskId)).execute();
      });
      return rows.map(toRecord);
    },
    async setState(sessionId, state) {
      await update(sessionId, { state: checkInput('session state', z.enum(SESSION_STATES), state) });
    },
    async setProviderSession(sessionId, providerSessionId) {
      await update(sessionId, {
        provider_session_id: providerSessionId === null ? null : JSON.stringify(providerSessionId),
      });
    },
    async setChoices(sessionId, choices) {
      const given = checkInput('session choices', SessionChoice.array(), choices);
      await update(sessionId, { choices: JSON.stringify(given) });
    },
  };
}

function toRecord(row: LedgerSchema['sessions']): SessionRecord {
  const place = { table: 'sessions', key: row.session_id };
  return {
    sessionId: row.session_id,
    taskId: row.task_id,
    agentProfileId: row.agent_profile_id,
    runtime: row.runtime,
    workspacePath: row.workspace_path,
    mode: readStored(place, z.enum(SESSION_MODES), row.mode),
    metadata: readStoredJson(place, JsonObject, row.metadata),
    taskEnvironmentId: row.task_environment_id,
    state: readStored(place, z.enum(SESSION_STATES), row.state),
    providerSessionId:
      row.provider_session_id === null ? null : readStoredJson(place, z.string(), row.provider_session_id),
    choices: readStoredJson(place, SessionChoice.array(), row.choices),
    createdAt: toTimestamp(row.created_at),
    updatedAt: toTimestamp(row.updated_at),
  };
}
