export { ERROR_STATUS, isErrorCode, type ErrorCode } from './errors/codes.ts';
export {
  AgentExit,
  AgentStartPhase,
  AgentStartReason,
  ControlError,
  ErrorEnvelope,
  invalidRequest,
  requestIssues,
  type RequestIssue,
} from './errors/control-error.ts';
export {
  InstanceEvent,
  PermissionCancelReason,
  SequencedEvent,
  type InstanceEventType,
} from './events/event.ts';
export { PermissionOption, PermissionRequest } from './events/permission-request.ts';
export {
  MAX_FRAME_BYTES,
  STREAM_CLOSE,
  STREAM_WINDOW_EVENTS,
  StreamMessage,
  StreamRequest,
} from './events/stream.ts';
export { EVENT_RETENTION, type CoveredEvent, type ExcludedEvent } from './events/table.ts';
export { Id, Milliseconds, PromptGeneration, SequenceNumber, Timestamp } from './identifiers/id.ts';
export { JsonObject } from './identifiers/json-object.ts';
export { npmPreferenceOf, npmRuntimeCommand, type NpmPreference } from './npm-runtime/command.ts';
export { NpmFailureClass, NpmStartFailure, npmFailureAdvice } from './npm-runtime/failure.ts';
export {
  PACKAGE_SPEC_EXPECTED,
  PackageSpec,
  parsePackageSpec,
  type ExactPackage,
} from './npm-runtime/package-spec.ts';
export { openApiDocument } from './openapi/document.ts';
export { RepairedRuntime, StartAgent, StartBudgetMs, StartedAgent } from './operations/agent.ts';
export { DirectoryEntry, MAX_DIRECTORY_ENTRIES, MAX_FILE_SLICE_BYTES } from './operations/files.ts';
export { Identity } from './operations/identity.ts';
export { CreateInstance, Instance, InstanceStatus, Reconstruction } from './operations/instances.ts';
export {
  ANSWER_MEDIA_TYPES,
  BASE_PATH,
  COMMON_ERRORS,
  CREDENTIAL_ERRORS,
  MAX_BODY_BYTES,
  MAX_PROMPT_BODY_BYTES,
  type AccessClass,
  type AnswerKind,
  type HttpMethod,
  type Operation,
} from './operations/operation.ts';
export { Credential, OwnershipDetails } from './operations/ownership.ts';
export { fillPath } from './operations/path.ts';
export { PermissionAnswer } from './operations/permissions.ts';
export { ConfigOptionValue, SESSION_CHANGE_LIMIT_MS, SessionChoice } from './operations/session.ts';
export {
  EVENTS_PATH,
  OPERATIONS,
  isOperationName,
  type OperationName,
  type ParamsOf,
  type QueryOf,
  type RequestOf,
  type ResponseOf,
} from './operations/table.ts';
export { ContentBlock, Prompt } from './operations/turns.ts';
export {
  CAPABILITIES,
  NPM_RUNTIME_CAPABILITY,
  REQUIRED_CAPABILITIES,
  missingCapabilities,
  type Capability,
} from './ownership/capabilities.ts';
export { LAST_WORDS, LastWords } from './ownership/last-words.ts';
export {
  Challenge,
  OwnershipProofs,
  RotationId,
  ownershipProof,
  type ProofInput,
} from './ownership/proof.ts';
export { Scope } from './ownership/scope.ts';
export {
  SETTINGS,
  type SettingName,
  type SettingReader,
  type SettingRow,
  type Settings,
} from './settings/catalogue.ts';
export { formatDuration, parseDuration } from './settings/duration.ts';
export { controlServerEnvironment, resolveSettings, type SettingSources } from './settings/resolve.ts';
export { SettingError } from './settings/setting-error.ts';
export { unownedPeriodInForce, type UnownedPeriod } from './settings/unowned-period.ts';
export {
  ActiveTurn,
  MAX_RETAINED_OUTCOMES,
  RetainedOutcome,
  TurnOutcome,
  TurnReport,
} from './turns/outcome.ts';
