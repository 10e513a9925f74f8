import type { RefusalReason } from '@holdfast/executor-contract';
import type { ServerEnd } from '../adoption/server-end.ts';

/** Why recovery stopped an instance. */
export type InstanceStopReason =
  | 'no_row'
  | 'passthrough'
  | 'duplicate'
  | 'ambiguous'
  | 'missing_input'
  | 'failed_read'
  | 'stop_failed'
  | 'deadline';

/** Everything that adoption, guards and recovery tell about what they do. The set of names is closed; no event holds a secret. */
export type RecoveryEvent =
  | {
      readonly name: 'adoption.attempted';
      readonly scope: string;
      readonly endpoint: string;
      readonly serverId: string;
    }
  | {
      readonly name: 'adoption.adopted';
      readonly scope: string;
      readonly serverId: string;
      readonly rotationId: number;
      /** The rotation had been made before, by a backend that died before it could confirm it. */
      readonly replayed: boolean;
    }
  | {
      readonly name: 'adoption.refused';
      readonly scope: string;
      readonly reason: RefusalReason;
      readonly detail: string;
    }
  /** The server on record says that it is stopping: no refusal, nothing to adopt. */
  | { readonly name: 'adoption.shutting_down'; readonly scope: string }
  /** Nothing answers, and the server's own log says why: nobody owned it for the unowned period, so it stopped its agents. */
  | { readonly name: 'adoption.unowned_shutdown'; readonly scope: string; readonly serverId: string }
  /** An own server without a capability that is needed has been stopped. */
  | {
      readonly name: 'adoption.incompatible_stopped';
      readonly scope: string;
      readonly missing: readonly string[];
    }
  /** Survival is switched off, and the server on record was own: it has been stopped. */
  | { readonly name: 'survivor.stopped'; readonly scope: string; readonly serverId: string }
  /** Survival is switched off, and the process at the recorded endpoint is not provably own. */
  | {
      readonly name: 'survivor.left_alone';
      readonly scope: string;
      readonly serverId: string;
      readonly reason: Exclude<RefusalReason, 'no_answer'>;
      readonly detail: string;
    }
  /** Survival is switched off, and the own server on record could not be stopped; it ends after its unowned period. */
  | {
      readonly name: 'survivor.not_stopped';
      readonly scope: string;
      readonly serverId: string;
      readonly detail: string;
    }
  | { readonly name: 'ownership.started'; readonly scope: string; readonly serverId: string }
  | {
      readonly name: 'ownership.renewal_failed';
      readonly scope: string;
      readonly serverId: string;
      readonly detail: string;
    }
  | {
      readonly name: 'ownership.lost';
      readonly scope: string;
      readonly serverId: string;
      readonly code: 'credential_superseded' | 'credential_unknown';
    }
  /**
   * A control server that this backend drives is there no more, or says that it is stopping. Its sessions end; the next launch
   * starts another server.
   */
  | {
      readonly name: 'server.ended';
      readonly scope: string;
      readonly serverId: string;
      readonly answer: ServerEnd;
    }
  /** Renewal stopped on our own wish; the server lives on for one unowned period. */
  | { readonly name: 'ownership.detached'; readonly scope: string; readonly serverId: string }
  /** A secret that nothing needs any more could not be removed. */
  | { readonly name: 'secret.not_removed'; readonly scope: string; readonly detail: string }
  | {
      readonly name: 'instance.stopped';
      readonly scope: string;
      readonly instanceId: string;
      readonly sessionId: string;
      readonly why: InstanceStopReason;
    }
  | {
      readonly name: 'instance.stop_failed';
      readonly scope: string;
      readonly instanceId: string;
      readonly sessionId: string;
      readonly why: InstanceStopReason;
      readonly detail: string;
    }
  | {
      readonly name: 'session.retracked';
      readonly sessionId: string;
      readonly executionId: string;
      readonly instanceId: string;
    }
  /** An outcome is durably applied, but the server was not told; it is told again at the next adoption. */
  | {
      readonly name: 'outcome.not_acknowledged';
      readonly sessionId: string;
      readonly turnId: string;
      readonly detail: string;
    }
  | {
      readonly name: 'launch.refused';
      readonly sessionId: string;
      readonly why: 'session_recovering' | 'agent_unstoppable' | 'agent_not_gone';
    };

/** Told synchronously; must not throw. */
export type OnRecoveryEvent = (event: RecoveryEvent) => void;
