export { SettingError } from '@holdfast/control-protocol';
export type {
  ConfigOptionValue,
  DirectoryEntry,
  Instance,
  InstanceEvent,
  PermissionRequest,
  SessionChoice,
  TurnOutcome,
} from '@holdfast/control-protocol';
export {
  AgentNotGoneError,
  AgentUnstoppableError,
  OwnershipLostError,
  SessionRecoveringError,
} from '@holdfast/recovery';
export type { Execution, HistorySetting, Liveness, RecoveryEvent, RecoveryReport } from '@holdfast/recovery';
export { LedgerUnavailableError } from '@holdfast/turn-ledger';
export type {
  LedgerUnavailableReason,
  PostgresOptions,
  SessionRecord,
  StoredEvent,
  TaskRecord,
  TurnRecord,
} from '@holdfast/turn-ledger';
export type { AgentOptions, NpmAgentOptions, ProgramAgentOptions } from './agents/agent-options.ts';
export { closeOnSignals } from './close-on-signals.ts';
export { createHost } from './create-host.ts';
export { HostClosedError, HostOptionError } from './host-errors.ts';
export {
  AgentStartCancelledError,
  AgentStartFailedError,
  type AgentStartFacts,
} from './sessions/agent-start-errors.ts';
export {
  ChoiceRefusedError,
  ChoiceUnresolvedError,
  PromptUnresolvedError,
  SessionNotFoundError,
  SessionNotLiveError,
  SessionTakenOverError,
  TurnInProgressError,
} from './sessions/session-errors.ts';
export {
  HomeUnusableError,
  InstallationLockedError,
  LockFileUnusableError,
  SharedLockHeldError,
  SharedLockLostError,
  SharedLockUnavailableError,
  type LockHolder,
} from './startup/installation-errors.ts';
export type { HostEvent, HostEventListener, HostEvents } from './host-events.ts';
export type { HostOptions } from './host-options.ts';
export type { CloseOptions, Host } from './host.ts';
export type { ReconciledRow } from './liveness/reconcile.ts';
export type { SessionLiveness } from './liveness/session-liveness.ts';
export type { RuntimeRepair } from './sessions/managed-start/start-plan.ts';
export type { CallSignal } from './sessions/call-signal.ts';
export type { PromptNextOptions } from './sessions/check-prompt.ts';
export type { PromptOptions, Session } from './sessions/session.ts';
export type { PermissionDecision, SessionPermissions } from './sessions/session-permissions.ts';
export type { SessionFiles } from './sessions/session-files.ts';
export type { CreateSession, Sessions } from './sessions/sessions.ts';
export type { SurvivalCapability } from './startup/capability.ts';
export type { RecoveringHost } from './startup/recovering-host.ts';
export type { CompletedTurn, OnTurnComplete } from './turns/on-turn-complete.ts';
export type { TurnResult } from './turns/turn-results.ts';
export type { Turn } from './turns/turn.ts';
export type { Turns } from './turns/turns.ts';
