import type { ExecutionServices } from './execution-services.ts';
import type { LiveExecution } from './live-execution.ts';

/** What the sessions of one host share. */
export interface HostServices extends ExecutionServices {
  /** The executions that run now, by session id. */
  readonly live: Map<string, LiveExecution>;
}
