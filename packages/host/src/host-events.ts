import type { PermissionRequest, TurnOutcome } from '@holdfast/control-protocol';
import type { RecoveryEvent } from '@holdfast/recovery';
import type { LedgerUnavailableReason } from '@holdfast/turn-ledger';
import type { SurvivalCapability } from './startup/capability.ts';

/** What happens in a host: the events of recovery and ownership, and those of sessions. The set is closed. */
export type HostEvent =
  | RecoveryEvent
  /** Whether agents can outlive this host; told once, before anything else. */
  | { readonly name: 'survival.capability'; readonly survival: SurvivalCapability }
  /** A setting is not in force as it was given. One event for each adjustment, at the start. */
  | { readonly name: 'settings.adjusted'; readonly setting: string; readonly detail: string }
  /** The ledger cannot be used; told once for each outage. Nothing is acknowledged meanwhile, so nothing is lost; calls are refused. */
  | {
      readonly name: 'ledger.unavailable';
      readonly place: string;
      readonly reason: LedgerUnavailableReason;
      readonly detail: string;
    }
  /** The ledger is back, and what waited for it is being stored. */
  | { readonly name: 'ledger.available'; readonly awayMs: number }
  /** The database that keeps the shared lock was away; the lock is being taken again, and nothing is written until it is. */
  | { readonly name: 'lock.broken'; readonly place: string; readonly detail: string }
  /** The shared lock was taken again, and nobody else had it meanwhile. */
  | { readonly name: 'lock.retaken'; readonly place: string }
  /** The shared lock is lost: this host acts no more. */
  | { readonly name: 'lock.lost'; readonly place: string; readonly detail: string }
  /** A turn's outcome has been applied, durably and for the first time. */
  | {
      readonly name: 'turn.outcome';
      readonly sessionId: string;
      readonly turnId: string;
      readonly outcome: TurnOutcome;
      /** `agent`: it had worked on its own; nothing else follows (GENERATION-07). */
      readonly startedBy: 'prompt' | 'agent';
    }
  /** An agent works without having been prompted, e.g. because background work of it has finished (GENERATION-07). */
  | { readonly name: 'turn.unprompted'; readonly sessionId: string; readonly turnId: string }
  /**
   * The session can be prompted. After a `prompt`, `promptGeneration` and `executionId` name the one that ended; it may be
   * overtaken by the time you act: `host.sessions.isCurrent` tells. After a `boot` no turn has ended.
   */
  | {
      readonly name: 'session.ready';
      readonly sessionId: string;
      readonly executionId: string;
      readonly promptGeneration: number;
      readonly after: 'prompt' | 'boot';
    }
  | {
      readonly name: 'permission.requested';
      readonly sessionId: string;
      readonly permission: PermissionRequest;
    }
  | { readonly name: 'permission.cancelled'; readonly sessionId: string; readonly requestId: string }
  /** The event stream of a session's agent broke and is being opened again; the agent works on. */
  | { readonly name: 'session.detached'; readonly sessionId: string; readonly why: string }
  /** A session's agent is gone; the next prompt starts another. */
  | { readonly name: 'session.ended'; readonly sessionId: string; readonly why: string }
  /** An agent was started for a session that had one before: with its history, or without. */
  | { readonly name: 'session.restarted'; readonly sessionId: string; readonly history: 'loaded' }
  | {
      readonly name: 'session.restarted';
      readonly sessionId: string;
      readonly history: 'lost';
      /** Why the agent did not go on with the conversation. */
      readonly why: string;
    }
  /**
   * npm's metadata hid the version of an agent that was published meanwhile; it was fetched anew, and the agent runs. `removed`:
   * a copy that npm had installed was removed on the way. Nothing is to be done.
   */
  | {
      readonly name: 'runtime.repaired';
      readonly sessionId: string;
      readonly agent: string;
      readonly packageSpec: string;
      readonly removed: boolean;
    }
  /** A failure that no call could report; work goes on. */
  | { readonly name: 'host.error'; readonly what: string; readonly error: unknown };

export type HostEventListener = (event: HostEvent) => void;

/** One stream of what happens; listeners are called in order, synchronously. */
export class HostEvents {
  readonly #listeners = new Set<HostEventListener>();

  /** Hears every event from now on, until the returned function is called. */
  subscribe(listener: HostEventListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Called by the host only. What a listener throws is told to the others and stops nothing. */
  publish(event: HostEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        if (event.name === 'host.error') continue;
        this.publish({ name: 'host.error', what: `a listener of ${event.name} threw`, error });
      }
    }
  }
}
