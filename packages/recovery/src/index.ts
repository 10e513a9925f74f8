export { ADOPTION_POINTS, type AdoptionPoint } from './adoption/adoption-points.ts';
export { OwnershipLostError } from './adoption/ownership-lost-error.ts';
export { ServerEndedError } from './adoption/server-ended-error.ts';
export { createOwnership, type OwnershipOptions } from './adoption/ownership.ts';
export { BootstrapError, ServerNotStoppedError } from './adoption/server-errors.ts';
export { correlate, type Correlation, type ScopedInstance } from './correlation/correlate.ts';
export { RecoveryDeadlineError } from './deadline.ts';
export type { InstanceStopReason, OnRecoveryEvent, RecoveryEvent } from './events/recovery-event.ts';
export { AgentNotGoneError, AgentUnstoppableError, SessionRecoveringError } from './guards/launch-errors.ts';
export { SessionGuards, type LaunchAdmission } from './guards/session-guards.ts';
export {
  classifyLiveness,
  type Liveness,
  type LivenessSituation,
  type Presence,
} from './liveness/classify-liveness.ts';
export { takeEnumerations, type EnumeratedServer, type Enumerations } from './liveness/enumerations.ts';
export { judgeRow, type LivenessPorts, type RowLiveness } from './liveness/judge-row.ts';
export type { OutcomeApplication, OutcomeWriter, SessionState } from './outcomes/outcome-writer.ts';
export {
  OUTCOME_EFFECTS,
  describeOutcome,
  type OutcomeEffect,
  type ReadName,
  type RowOutcome,
} from './outcomes/row-outcome.ts';
export { systemClock, type Clock } from './ports/clock.ts';
export type { AgentProfile, AgentProfiles, HistorySetting } from './ports/profiles.ts';
export type { Random } from './ports/random.ts';
export type { StoredSession, StoredSessions } from './ports/stored-sessions.ts';
export {
  planReconciliation,
  type JudgedRow,
  type ReconciliationPlan,
  type SessionPlan,
} from './reconciliation/plan.ts';
export type { ReadSettings } from './reconstruction/bounded-read.ts';
export { createExecution, type Execution, type ExecutionValues } from './reconstruction/execution.ts';
export type { MissingInput } from './reconstruction/reconstruct.ts';
export {
  EXECUTION_SOURCES,
  RUN_ID_VARIABLE,
  type AdoptedInstance,
  type DeclaredSource,
  type ReconstructionInputs,
} from './reconstruction/sources.ts';
export { recover, type RecoverOptions } from './recover.ts';
export { RecoveryReport, type RowReport } from './recovery-report.ts';
export type { Publish } from './sessions/recover-session.ts';
export type { RecoveryPorts, RetrackedSession } from './sessions/retrack.ts';
export type { ControlServerRecords } from './stores/control-server-records.ts';
export {
  SecretStoreUnsafeError,
  SecretUnavailableError,
  createFileSecretStore,
} from './stores/file-secret-store.ts';
export type { SecretStore } from './stores/secret-store.ts';
