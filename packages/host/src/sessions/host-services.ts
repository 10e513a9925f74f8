import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { ExecutionServices } from './execution-services.ts';
import type { LiveExecution } from './live-execution.ts';

/** What the sessions of one host share. */
export interface HostServices extends ExecutionServices {
  /** The executions that run now, by session id. */
  readonly live: Map<string, LiveExecution>;
  /** The last control server of each scope that this host came to own. */
  readonly servers: () => readonly OwnedControlServer[];
}
