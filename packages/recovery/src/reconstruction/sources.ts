import type { Reconstruction } from '@holdfast/control-protocol';
import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { AgentProfile } from '../ports/profiles.ts';
import type { StoredSession } from '../ports/stored-sessions.ts';
import type { ExecutionValues } from './execution.ts';

/** The adopted instance: where it was found, and what it answered to the reconstruction read. */
export interface AdoptedInstance extends Reconstruction {
  readonly scope: string;
  readonly instanceId: string;
}

/** Everything an execution is rebuilt from: four sources, and only these (SURVIVAL-002.14). */
export interface ReconstructionInputs {
  readonly row: ExecutionRecord;
  /** Null when the store has no such session. */
  readonly store: StoredSession | null;
  readonly instance: AdoptedInstance;
  /** Null when there is no such profile. What is re-derived from it follows it as it is now. */
  readonly profile: AgentProfile | null;
}

/** Where a value comes from, and from nowhere else: reading gets that one source and can reach no other. */
export type DeclaredSource<Value> = {
  readonly [Name in keyof ReconstructionInputs]: {
    readonly source: Name;
    /** Whether emptiness is legitimate; otherwise an empty value is missing, and the instance is refused (SURVIVAL-002.4). */
    readonly mayBeEmpty: boolean;
    readonly read: (from: NonNullable<ReconstructionInputs[Name]>) => Value | null;
  };
}[keyof ReconstructionInputs];

/** The name under which the host's own run identity travels to the agent (CONTRACT-10). */
export const RUN_ID_VARIABLE = 'KANDEV_RUN_ID';

/** One row for each field of an execution; a field without one does not compile, nor does a second one (CONTRACT-06). */
export const EXECUTION_SOURCES = {
  executionId: { source: 'row', mayBeEmpty: false, read: (row) => row.executionId },
  sessionId: { source: 'row', mayBeEmpty: false, read: (row) => row.sessionId },
  taskId: { source: 'row', mayBeEmpty: false, read: (row) => row.taskId },
  runtime: { source: 'row', mayBeEmpty: false, read: (row) => row.runtime },
  workspacePath: { source: 'row', mayBeEmpty: false, read: (row) => row.workspacePath },
  containerId: { source: 'row', mayBeEmpty: true, read: (row) => row.containerId },
  metadata: { source: 'row', mayBeEmpty: true, read: (row) => row.metadata },
  agentProfileId: { source: 'row', mayBeEmpty: false, read: (row) => row.agentProfileId },

  taskEnvironmentId: { source: 'store', mayBeEmpty: true, read: (session) => session.taskEnvironmentId },

  // The instance that is driven from now on is the one that was found, whether or not the row names it (SURVIVAL-002.2).
  scope: { source: 'instance', mayBeEmpty: false, read: (instance) => instance.scope },
  instanceId: { source: 'instance', mayBeEmpty: false, read: (instance) => instance.instanceId },
  workspaceSourceRoots: {
    source: 'instance',
    mayBeEmpty: false,
    read: (instance) => instance.workspaceSourceRoots,
  },
  environment: { source: 'instance', mayBeEmpty: true, read: (instance) => instance.environment },
  runId: {
    source: 'instance',
    mayBeEmpty: true,
    read: (instance) => instance.environment[RUN_ID_VARIABLE] ?? null,
  },
  providerSessionId: {
    source: 'instance',
    mayBeEmpty: false,
    read: (instance) => instance.providerSessionId,
  },
  lastPromptGeneration: {
    source: 'instance',
    mayBeEmpty: true,
    read: (instance) => instance.lastPromptGeneration,
  },

  agentId: { source: 'profile', mayBeEmpty: false, read: (profile) => profile.agentId },
  command: { source: 'profile', mayBeEmpty: false, read: (profile) => profile.command },
  continuationCommand: {
    source: 'profile',
    mayBeEmpty: false,
    read: (profile) => profile.continuationCommand,
  },
  history: { source: 'profile', mayBeEmpty: false, read: (profile) => profile.history },
} as const satisfies { readonly [Field in keyof ExecutionValues]: DeclaredSource<ExecutionValues[Field]> };
