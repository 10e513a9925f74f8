import type { CompiledQuery, Kysely, QueryResult, Transaction } from 'kysely';
import type { SESSION_MODES, SESSION_STATES } from '../sessions/session-state.ts';
import type { TurnState } from '../turns/turn-state.ts';

/**
 * The tables as they are now; `migrations.ts` tells how they came to be. Times are epoch milliseconds, flags 0 or 1. A
 * column that holds JSON text is `JsonText`: text on every database, because `jsonb` refuses NUL and reorders keys.
 */
export interface LedgerSchema {
  tasks: TasksTable;
  sessions: SessionsTable;
  executions: ExecutionsTable;
  turns: TurnsTable;
  event_cursors: EventCursorsTable;
  events: EventsTable;
  control_servers: ControlServersTable;
}

/** Reads outside a transaction. */
export type LedgerReader = Pick<Kysely<LedgerSchema>, 'selectFrom'>;

/** One transaction; whoever gets it uses nothing else of the ledger until it ends. */
export interface LedgerTransaction extends Pick<
  Transaction<LedgerSchema>,
  'selectFrom' | 'insertInto' | 'updateTable' | 'deleteFrom' | 'getExecutor'
> {
  executeQuery<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>;
}

type EpochMs = number;
type Flag = 0 | 1;
type JsonText = string;

interface TasksTable {
  task_id: string;
  state: 'in_progress' | 'review';
  interrupted: Flag;
  failed: Flag;
  created_at: EpochMs;
  updated_at: EpochMs;
}

interface SessionsTable {
  session_id: string;
  task_id: string;
  agent_profile_id: string;
  runtime: string;
  workspace_path: string;
  mode: (typeof SESSION_MODES)[number];
  state: (typeof SESSION_STATES)[number];
  /** The agent's own name for the conversation, as JSON: agents choose it freely. */
  provider_session_id: JsonText | null;
  /** What was chosen for the agent's session, in order. */
  choices: JsonText;
  metadata: JsonText;
  task_environment_id: string | null;
  /** The `ordinal` of its latest turn. */
  turn_count: number;
  /** The `position` of its latest event. */
  event_count: number;
  created_at: EpochMs;
  updated_at: EpochMs;
}

interface ExecutionsTable {
  execution_id: string;
  session_id: string;
  task_id: string;
  runtime: string;
  scope: string;
  instance_id: string;
  agent_profile_id: string;
  workspace_path: string;
  container_id: string | null;
  metadata: JsonText;
  /** 1 while the row claims a live process; at most one such row for each session. */
  live: Flag;
  end_reason: string | null;
  created_at: EpochMs;
  ended_at: EpochMs | null;
  /** The control server's own id; null in rows of a time when it was not written down. */
  server_id: string | null;
  /** The agent, once it runs. Both, or neither. */
  agent_pid: number | null;
  agent_start_time: string | null;
}

interface TurnsTable {
  turn_id: string;
  session_id: string;
  /** 1 for the first turn of its session. */
  ordinal: number;
  execution_id: string;
  /** 0: no prompt started it. */
  prompt_generation: number;
  /** What the control server calls it; null until that is known. */
  control_turn_id: string | null;
  state: TurnState;
  content: JsonText;
  outcome: JsonText | null;
  dispatch_error: JsonText | null;
  created_at: EpochMs;
  ended_at: EpochMs | null;
}

interface EventCursorsTable {
  execution_id: string;
  stored_seq: number;
}

interface EventsTable {
  execution_id: string;
  seq: number;
  session_id: string;
  /** 1 for the first event of its session. */
  position: number;
  /** As it came on the wire: it may be more exact than a millisecond. */
  at: string;
  event: JsonText;
}

interface ControlServersTable {
  scope: string;
  endpoint: string;
  server_id: string;
  credential_ref: string;
  capabilities: JsonText;
  log_file: string;
  started_at: string;
  updated_at: EpochMs;
}
