import { sql } from 'kysely';
import { prepared } from '../database/prepared-statement.ts';
import type { SessionState } from '../sessions/session-state.ts';
import { OPEN_TURN_STATES, type OutcomeTurnState } from '../turns/turn-state.ts';

/** Ends an open turn of this prompt; no row where there is none. */
export const endTurn = prepared<EndedTurn>().as((db, param) =>
  db
    .updateTable('turns')
    .set({
      state: param('state'),
      outcome: param('outcome'),
      // A crash between the server's acceptance and its recording leaves it unknown until now.
      control_turn_id: param('controlTurnId'),
      ended_at: param('endedAt'),
    })
    .where('execution_id', '=', param('executionId'))
    .where('prompt_generation', '=', param('promptGeneration'))
    .where((eb) =>
      eb.or([eb('control_turn_id', 'is', null), eb('control_turn_id', '=', param('controlTurnId'))]),
    )
    .where('state', 'in', OPEN_TURN_STATES)
    .returning(['turn_id', 'session_id']),
);

interface EndedTurn {
  readonly state: OutcomeTurnState;
  /** JSON text. */
  readonly outcome: string;
  readonly controlTurnId: string;
  readonly endedAt: number;
  readonly executionId: string;
  readonly promptGeneration: number;
}

/** Gives a session the state that an outcome leads to, unless its host stopped it. */
export const moveSession = prepared<MovedSession>().as((db, param) =>
  db
    .updateTable('sessions')
    .set({
      state: sql<SessionState>`case when state = 'stopped' then state else ${param('state')} end`,
      updated_at: sql<number>`case when state = 'stopped' then updated_at else ${param('now')} end`,
    })
    .where('session_id', '=', param('sessionId'))
    .returning(['task_id', 'state']),
);

interface MovedSession {
  readonly sessionId: string;
  readonly state: SessionState;
  readonly now: number;
}

/** Puts a task in progress up for review. */
export const reviewTask = prepared<EndedTask>().as((db, param) =>
  db
    .updateTable('tasks')
    .set({ state: 'review', updated_at: param('now') })
    .where('task_id', '=', param('taskId'))
    .where('state', '=', 'in_progress'),
);

/** Marks a task in progress as failed. */
export const failTask = prepared<EndedTask>().as((db, param) =>
  db
    .updateTable('tasks')
    .set({ failed: 1, updated_at: param('now') })
    .where('task_id', '=', param('taskId'))
    .where('state', '=', 'in_progress'),
);

interface EndedTask {
  readonly taskId: string;
  readonly now: number;
}
