import type { ExecutorRuntime } from '@holdfast/executor-contract';
import type { Clock, SessionGuards } from '@holdfast/recovery';
import type { Ledger, ReadyBus, SessionGuard } from '@holdfast/turn-ledger';
import type { AgentProfile } from '../agents/agent-options.ts';
import type { SessionTakenOverError } from './session-errors.ts';
import type { HostEvents } from '../host-events.ts';
import type { HostLiveness } from '../liveness/host-liveness.ts';
import type { TurnResults } from '../turns/turn-results.ts';
import type { PendingPrompts } from './pending-prompts.ts';
import type { LedgerPatience } from './ledger-patience.ts';
import type { StartsUnderWay } from './starts-under-way.ts';
import type { StoredNotice } from './stored-notice.ts';

/** What every execution of one host works with. */
export interface ExecutionServices {
  readonly ledger: Ledger;
  /** For what has to be stored although nobody can be told that it could not. */
  readonly patience: LedgerPatience;
  readonly runtimes: ReadonlyMap<string, ExecutorRuntime>;
  readonly agents: ReadonlyMap<string, AgentProfile>;
  readonly events: HostEvents;
  /** Refuses launches of sessions that are being recovered or cannot be stopped. */
  readonly guards: SessionGuards;
  /** Whether the agents that rows claim are there. */
  readonly liveness: HostLiveness;
  /** One change of a session at a time. */
  readonly sessionGuard: SessionGuard;
  /** Tells of executions that are ready for a prompt. */
  readonly ready: ReadyBus;
  /** The prompts that wait for the running one of their session. */
  readonly pending: PendingPrompts;
  readonly starts: StartsUnderWay;
  readonly results: TurnResults;
  readonly stored: StoredNotice;
  /** The sessions that another backend drives now, each with the error that says so (OWNERSHIP-002.3). */
  readonly takenOver: Map<string, SessionTakenOverError>;
  /** How long a cancel may go unanswered, in milliseconds. */
  readonly cancelLimitMs: number;
  readonly clock: Clock;
  /** The time as it stands on the wire: RFC 3339, UTC. */
  readonly wallTime: () => string;
  /** A fresh id, never given before. */
  readonly newId: () => string;
  /** Aborts when the host closes or has lost its installation; the reason is the error for calls that come later. */
  readonly closed: AbortSignal;
}
