import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { TerminalEvent } from '@holdfast/turn-ledger';
import type { ExecutionServices } from './execution-services.ts';
import type { LiveExecution } from './live-execution.ts';

/** What the sessions of one host share. */
export interface HostServices extends ExecutionServices {
  /** The executions that run now, by session id. */
  readonly live: Map<string, LiveExecution>;
  /** The last prompt that ended while no backend was there, by execution id; taken when its session is live again. */
  readonly unseenEnds: Map<string, TerminalEvent>;
  /** The last control server of each scope that this host came to own, unless it has ended. */
  readonly servers: () => readonly OwnedControlServer[];
}
