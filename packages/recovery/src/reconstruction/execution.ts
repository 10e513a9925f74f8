import type { JsonObject } from '@holdfast/control-protocol';
import type { HistorySetting } from '../ports/profiles.ts';

/** What an execution is made of. Launch and recovery both have to give all of it. */
export interface ExecutionValues {
  readonly executionId: string;
  readonly sessionId: string;
  readonly taskId: string;
  /** The kind of its runtime. */
  readonly runtime: string;
  /** The control server that its instance is on. */
  readonly scope: string;
  readonly instanceId: string;
  readonly agentProfileId: string;
  readonly workspacePath: string;
  readonly metadata: JsonObject;
  readonly containerId: string | null;
  /** The host's own name for the environment that the session works in, or null where it gave none. */
  readonly taskEnvironmentId: string | null;
  readonly workspaceSourceRoots: readonly string[];
  /** The runtime environment of the agent. Holds secrets. */
  readonly environment: Readonly<Record<string, string>>;
  readonly providerSessionId: string;
  /** The highest prompt generation that the instance has accepted; 0 before the first prompt. */
  readonly lastPromptGeneration: number;
  /** The host's own name for this attempt, or null where it gave none (CONTRACT-10). */
  readonly runId: string | null;
  /** Which agent its profile runs now. */
  readonly agentId: string;
  /** Program and arguments of the agent, as its profile says now. */
  readonly command: readonly string[];
  /** Program and arguments with which the agent is started again, with a conversation to load, as its profile says now. */
  readonly continuationCommand: readonly string[];
  /** Whether such a start loads the conversation, as its profile says now. */
  readonly history: HistorySetting;
}

/**
 * The backend's view of one instance. `environment` can be read, but is not enumerable: it stays out of JSON, logs and
 * copies (CONTRACT-09).
 */
export type Execution = Readonly<ExecutionValues>;

/** The one way to make an execution, at launch and at recovery alike (SURVIVAL-002.3). */
export function createExecution(values: ExecutionValues): Execution {
  return Object.freeze(
    Object.defineProperty({ ...values }, 'environment', {
      value: Object.freeze({ ...values.environment }),
      enumerable: false,
    }),
  );
}
