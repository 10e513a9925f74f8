import type { Reconstruction } from '@holdfast/control-protocol';
import type { ExecutionRecord } from '@holdfast/executor-contract';
import type { ScopedInstance } from '../correlation/correlate.ts';
import type { AgentProfile } from '../ports/profiles.ts';
import type { ExecutionValues } from './execution.ts';

/** Everything an execution is rebuilt from. */
export interface ReconstructionInputs {
  readonly row: ExecutionRecord;
  readonly enumerated: ScopedInstance;
  /** What the instance answered to the reconstruction read. */
  readonly instance: Reconstruction;
  readonly profile: AgentProfile | null;
}

/** Where a value comes from, and from nowhere else (SURVIVAL-002.14). */
export interface DeclaredSource<Value> {
  /** `enumeration` and `instance` are the control server's word, `profile` is re-derived as it is now. */
  readonly source: 'row' | 'enumeration' | 'instance' | 'profile';
  /** Whether emptiness is legitimate; otherwise an empty value is missing, and the instance is refused (SURVIVAL-002.4). */
  readonly mayBeEmpty: boolean;
  readonly read: (inputs: ReconstructionInputs) => Value | null;
}

/** The name under which the host's own run identity travels to the agent (CONTRACT-10). */
export const RUN_ID_VARIABLE = 'KANDEV_RUN_ID';

/** One row for each field of an execution; a field without one does not compile (CONTRACT-06). */
export const EXECUTION_SOURCES = {
  executionId: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.executionId },
  sessionId: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.sessionId },
  taskId: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.taskId },
  runtime: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.runtime },
  // The instance that is driven from now on is the one that was found, whether or not the row names it (SURVIVAL-002.2).
  scope: { source: 'enumeration', mayBeEmpty: false, read: ({ enumerated }) => enumerated.scope },
  instanceId: {
    source: 'enumeration',
    mayBeEmpty: false,
    read: ({ enumerated }) => enumerated.instance.instanceId,
  },
  agentProfileId: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.agentProfileId },
  workspacePath: { source: 'row', mayBeEmpty: false, read: ({ row }) => row.workspacePath },
  metadata: { source: 'row', mayBeEmpty: true, read: ({ row }) => row.metadata },
  containerId: { source: 'row', mayBeEmpty: true, read: ({ row }) => row.containerId },
  workspaceSourceRoots: {
    source: 'instance',
    mayBeEmpty: false,
    read: ({ instance }) => instance.workspaceSourceRoots,
  },
  environment: { source: 'instance', mayBeEmpty: true, read: ({ instance }) => instance.environment },
  providerSessionId: {
    source: 'instance',
    mayBeEmpty: false,
    read: ({ instance }) => instance.providerSessionId,
  },
  lastPromptGeneration: {
    source: 'instance',
    mayBeEmpty: true,
    read: ({ instance }) => instance.lastPromptGeneration,
  },
  runId: {
    source: 'instance',
    mayBeEmpty: true,
    read: ({ instance }) => instance.environment[RUN_ID_VARIABLE] ?? null,
  },
  command: { source: 'profile', mayBeEmpty: false, read: ({ profile }) => profile?.command ?? null },
} as const satisfies { readonly [Field in keyof ExecutionValues]: DeclaredSource<ExecutionValues[Field]> };
