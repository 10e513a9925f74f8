export type { ControlServerRecord, ControlServers } from './control-servers/control-server-store.ts';
export {
  LedgerInputError,
  LedgerRowError,
  LedgerTooNewError,
  LedgerUnavailableError,
  NestedTransactionError,
  type LedgerUnavailableReason,
} from './database/ledger-errors.ts';
export { PgMissingError } from './database/postgres/pg-missing-error.ts';
export type { PostgresOptions } from './database/postgres/postgres-options.ts';
export { EventGapError } from './events/event-gap-error.ts';
export type { AppendResult } from './events/append-events.ts';
export type { EventLog, ReadEvents, StoredEvent } from './events/event-store.ts';
export { ExecutionNotUsableError, SessionAlreadyLiveError } from './executions/execution-errors.ts';
export type { AgentProcess, ExecutionRecord, ExecutionRecords } from './executions/execution-records.ts';
export type { ExecutionWriter, NewExecution } from './executions/execution-writer.ts';
export { LedgerUrlError } from './ledger-url.ts';
export { openLedger, type Ledger, type LedgerOptions } from './open-ledger.ts';
export type { ApplyOutcome, ApplyResult } from './outcomes/apply-outcome.ts';
export { outcomeEffects, type MapOutcome, type OutcomeEffects } from './outcomes/outcome-effects.ts';
export type { Outcomes } from './outcomes/outcome-store.ts';
export { judgeReady, type CurrentPrompts, type ReadyJudgement } from './prompts/judge-ready.ts';
export {
  OrchestratorStep,
  type OrchestratorPorts,
  type StepResult,
  type StepSoFar,
} from './prompts/orchestrator-step.ts';
export {
  initialPrompts,
  reducePrompts,
  type ActivePrompt,
  type PromptState,
  type PromptStep,
  type PromptVerdict,
} from './prompts/prompt-state.ts';
export type { PromptIdentity } from './prompts/prompt-identity.ts';
export {
  PromptLifecycle,
  PromptsEndedError,
  type BegunPrompt,
  type PromptEnd,
  type PromptLifecycleOptions,
  type TerminalEvent,
  type TerminalVerdict,
} from './prompts/prompt-lifecycle.ts';
export { ReadyBus, type BootReadyEvent, type ReadyEvent, type ReadySubscriber } from './prompts/ready-bus.ts';
export { SessionGuard, type Held, type HoldOptions } from './prompts/session-guard.ts';
export type { ReconciledSession, ReconcilePlan, SessionToReconcile } from './reconciliation/reconcile.ts';
export { SessionExistsError, UnknownSessionError } from './sessions/session-errors.ts';
export type { NewSession, SessionFilter, SessionRecord, Sessions } from './sessions/session-store.ts';
export type { SessionMode, SessionState } from './sessions/session-state.ts';
export type { TaskRecord, TaskState, Tasks } from './tasks/task-store.ts';
export { TurnExistsError, TurnOpenError } from './turns/turn-errors.ts';
export type { OpenTurnState, TerminalTurnState, TurnState } from './turns/turn-state.ts';
export type { AcceptResult } from './turns/change-turn.ts';
export type { DispatchError, NewTurn, TurnRecord } from './turns/turn-record.ts';
export type { StartedUnprompted, TurnChange, Turns } from './turns/turn-store.ts';
export type { UnpromptedTurn } from './turns/unprompted-turn.ts';
