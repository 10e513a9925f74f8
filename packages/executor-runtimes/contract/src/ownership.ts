import type { Instance } from '@holdfast/control-protocol';
import type { ControlClient } from '@holdfast/control-protocol/client';
import type { ControlServerRecord } from './control-server-record.ts';

/** Why a server that may be ours was not adopted; when several apply, the first of this order (OWNERSHIP-001.6). */
export const REFUSAL_REASONS = [
  'no_answer',
  'identity_mismatch',
  'credential_unavailable',
  'authentication_failure',
  'capability_incompatibility',
  'rotation_failure',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** How a control server is reached. */
export interface Dialled {
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  /**
   * `direct`: the server must prove itself for the very address that was dialled. `tunnel`: the tunnel's own
   * authentication stands in for that.
   */
  readonly route: 'direct' | 'tunnel';
}

/** Reaches the server that a record names. */
export type Dial = (record: ControlServerRecord, signal: AbortSignal) => Promise<Dialled>;

/** The instances of a control server, or why they could not be read within the read budget. */
export type Enumeration =
  | { readonly kind: 'enumerated'; readonly instances: readonly Instance[] }
  | { readonly kind: 'not_enumerated'; readonly detail: string };

/** What came of stopping an instance. One that the server does not have counts as stopped (SURVIVAL-002.15). */
export type InstanceStop =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'not_stopped'; readonly detail: string };

/** A control server that this backend drives. Ownership is renewed until it is lost or released. */
export interface OwnedControlServer {
  readonly scope: string;
  readonly serverId: string;
  readonly endpoint: string;
  readonly capabilities: readonly string[];
  /** The unowned period in force. */
  readonly unownedPeriodMs: number;
  readonly logFile: string;
  /** Drives the server with the newest credential. A call that brings no limit of its own is given 30 s. */
  readonly client: ControlClient;
  /** Aborts when another backend has taken the server over: drop what it ran, do not retry (OWNERSHIP-002.3). */
  readonly lost: AbortSignal;
  /**
   * Aborts when nobody is there any more, or the server says that it is stopping: nothing can be started on it, and what it ran ends
   * with it, as far as that does not mind. Noticed by whatever is asked of it first, at the latest by the next renewal. Not when
   * it was let go of.
   */
  readonly ended: AbortSignal;
  /** Reads the instances on the read budget (SURVIVAL-002.13). Rejects with the signal's reason only. */
  enumerate(signal: AbortSignal): Promise<Enumeration>;
  /** Stops an instance with all that its agent started, retried on the read budget; no deadline cuts it short. */
  stopInstance(instanceId: string): Promise<InstanceStop>;
  /** Stops renewing. The server and its agents live on until the unowned period ends. */
  release(): Promise<void>;
  /** Stops the server with all its agents, and renewing; resolves when it answers no more (OWNERSHIP-002.9). */
  shutdown(): Promise<void>;
}

/** What came of trying to adopt the server of a scope. */
export type AdoptionResult =
  | { readonly kind: 'adopted'; readonly server: OwnedControlServer }
  /** Nothing to adopt: start fresh. `no_answer` is recorded as the reason; the other two are no refusals. */
  | { readonly kind: 'absent'; readonly why: 'no_record' | 'no_answer' | 'shutting_down' }
  /** An own server without a capability that is needed has been stopped with its instances: repair rows, start fresh. */
  | { readonly kind: 'incompatible_stopped'; readonly missing: readonly string[] }
  /** Left alone: start an own server elsewhere, except after `rotation_failure`, which is tried again. */
  | {
      readonly kind: 'refused';
      readonly reason: Exclude<RefusalReason, 'no_answer'>;
      readonly detail: string;
    };

/** What came of ending a survivor while the capability is switched off. */
export type SurvivorResult =
  | { readonly kind: 'none' }
  | { readonly kind: 'stopped' }
  /** Not provably ours: left alone. */
  | { readonly kind: 'left_alone'; readonly reason: Exclude<RefusalReason, 'no_answer'> }
  /** Ours, but it could not be stopped; it ends by itself after its unowned period. */
  | { readonly kind: 'not_stopped'; readonly detail: string };

/** A control server that a runtime has just started and that nobody owns yet. */
export interface FreshServer extends Dialled {
  /** The one-time secret that only its starter and the server know. */
  readonly nonce: string;
}

/** Ownership of control servers, as it reaches a runtime: one algorithm, whatever the runtime. */
export interface Ownership {
  /** Proves, authenticates and takes over the server on record for the scope. */
  adopt(scope: string, dial: Dial, signal: AbortSignal): Promise<AdoptionResult>;
  /** Takes first ownership of a server and writes its record durably (OWNERSHIP-001.1). */
  bootstrap(scope: string, fresh: FreshServer, signal: AbortSignal): Promise<OwnedControlServer>;
  /** Stops the server on record if it can be proven own; otherwise leaves it alone (SURVIVAL-005.5). */
  endSurvivor(scope: string, dial: Dial, signal: AbortSignal): Promise<SurvivorResult>;
  /**
   * Whether the server of the scope that this backend was refused by, or could not stop, may still be there. `none`: there was
   * no such server. It is sent nothing; `gone` is certain, `answers` may be a doubt.
   */
  refusedServer(scope: string, signal: AbortSignal): Promise<'none' | 'answers' | 'gone'>;
}
