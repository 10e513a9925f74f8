import type { Log } from '../diagnostics/log.ts';
import type { NpmRuntimes } from '../npm-runtime/npm-runtimes.ts';
import type { Clock } from '../ports/clock.ts';
import type { StartBudgets } from './start-agent.ts';

/** What every instance of a server shares. */
export interface InstanceSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly serverId: string;
  readonly detachedEventLimit: number;
  readonly baseEnvironment: Readonly<Record<string, string>>;
  readonly npmRuntimes: NpmRuntimes;
  readonly startBudgets: StartBudgets;
  /** Time between SIGTERM and SIGKILL, in milliseconds. */
  readonly stopGraceMs: number;
  /** A number that this server gives out once. */
  readonly nextNumber: () => number;
}
