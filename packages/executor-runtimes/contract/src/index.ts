export type { ControlServerRecord } from './control-server-record.ts';
export type { ExecutionRecord } from './execution-record.ts';
export type {
  ExecutorRuntime,
  LaunchRequest,
  LaunchedInstance,
  RuntimeContext,
  RuntimeFactory,
  RuntimeTraits,
  ScopeEnumeration,
  ScopeReport,
} from './executor-runtime.ts';
export {
  REFUSAL_REASONS,
  type AdoptionResult,
  type Dial,
  type Dialled,
  type Enumeration,
  type FreshServer,
  type InstanceStop,
  type OwnedControlServer,
  type Ownership,
  type RefusalReason,
  type SurvivorResult,
} from './ownership.ts';
export type { ProcessEvidence, ProcessIdentity } from './process-identity.ts';
