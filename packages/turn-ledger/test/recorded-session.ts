import type { InstanceEvent, SequencedEvent, TurnOutcome } from '@holdfast/control-protocol';
import type { Ledger, NewExecution, NewSession, NewTurn, ReconcilePlan } from '@holdfast/turn-ledger';

/** A time at which nothing in particular happens. */
export const AT = '2026-03-04T05:06:07.890Z';

export const COMPLETED: TurnOutcome = { kind: 'completed', stopReason: 'end_turn' };

/** A session with ids made from `name`: session, execution and instance `<name>`, task `<name>-task`. */
export function aSession(name: string, with_: Partial<NewSession> = {}): NewSession {
  return {
    sessionId: name,
    taskId: `${name}-task`,
    agentProfileId: 'opencode',
    runtime: 'standalone',
    workspacePath: '/src/tree',
    mode: 'managed',
    metadata: {},
    ...with_,
  };
}

export function anExecution(name: string, with_: Partial<NewExecution> = {}): NewExecution {
  return {
    executionId: name,
    sessionId: name,
    taskId: `${name}-task`,
    runtime: 'standalone',
    scope: 'standalone',
    serverId: 'server-1',
    instanceId: name,
    agentProfileId: 'opencode',
    workspacePath: '/src/tree',
    containerId: null,
    metadata: {},
    ...with_,
  };
}

/** Turn `<name>-<generation>` of the session `name`. */
export function aTurn(name: string, promptGeneration: number, with_: Partial<NewTurn> = {}): NewTurn {
  return {
    turnId: `${name}-${String(promptGeneration)}`,
    sessionId: name,
    executionId: name,
    promptGeneration,
    content: [{ type: 'text', text: 'Make the login test pass.' }],
    ...with_,
  };
}

/** Records a session whose execution is live. */
export async function recordLiveSession(
  ledger: Ledger,
  name: string,
  with_: Partial<NewSession> = {},
): Promise<void> {
  const session = aSession(name, with_);
  await ledger.sessions.create(session);
  await ledger.executionWriter.insert(anExecution(name, { taskId: session.taskId }));
}

/** The plan for sessions whose agents are gone for certain. */
export function gone(...sessionIds: readonly string[]): ReconcilePlan {
  return { sessions: sessionIds.map((sessionId) => ({ sessionId, session: 'reconcile', repair: 'all' })) };
}

/** Events numbered on from `firstSeq`. */
export function numbered(firstSeq: number, ...events: readonly InstanceEvent[]): SequencedEvent[] {
  return events.map((event, index) => ({ seq: firstSeq + index, at: AT, event }));
}

export function said(text: string): InstanceEvent {
  return {
    type: 'session_update',
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
  };
}

export function started(turnId: string, promptGeneration: number): InstanceEvent {
  return { type: 'turn_started', turnId, promptGeneration };
}

export function ended(
  turnId: string,
  promptGeneration: number,
  outcome: TurnOutcome = COMPLETED,
): InstanceEvent {
  return { type: 'turn_ended', turnId, promptGeneration, outcome };
}

/** The value of a promise that is to be rejected with an error of this class. */
export async function rejection<E>(
  promise: Promise<unknown>,
  errorClass: new (facts: never) => E,
): Promise<E> {
  const error = await promise.then(
    (value: unknown) => value,
    (reason: unknown) => reason,
  );
  if (error instanceof errorClass) return error;
  throw new Error(`expected a rejection with ${errorClass.name}, got ${String(error)}`, { cause: error });
}
