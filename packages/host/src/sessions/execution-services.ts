import type { ExecutorRuntime } from '@holdfast/executor-contract';
import type { SessionGuards } from '@holdfast/recovery';
import type { Ledger, SessionGuard } from '@holdfast/turn-ledger';
import type { HostEvents } from '../host-events.ts';
import type { AgentProfile } from '../host-options.ts';
import type { TurnResults } from '../turns/turn-results.ts';
import type { StoredNotice } from './stored-notice.ts';

/** What every execution of one host works with. */
export interface ExecutionServices {
  readonly ledger: Ledger;
  readonly runtimes: ReadonlyMap<string, ExecutorRuntime>;
  readonly agents: ReadonlyMap<string, AgentProfile>;
  readonly events: HostEvents;
  /** Refuses launches of sessions that are being recovered or cannot be stopped. */
  readonly guards: SessionGuards;
  /** One change of a session at a time. */
  readonly sessionGuard: SessionGuard;
  readonly results: TurnResults;
  readonly stored: StoredNotice;
  /** A fresh id, never given before. */
  readonly newId: () => string;
  readonly closed: AbortSignal;
}
