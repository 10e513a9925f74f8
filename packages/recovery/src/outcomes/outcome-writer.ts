import type { TurnOutcome } from '@holdfast/control-protocol';

/** The state a session is published in. */
export type SessionState = 'running' | 'waiting_for_input' | 'failed';

/** One ended turn as a control server retained it. */
export interface OutcomeApplication {
  readonly executionId: string;
  readonly promptGeneration: number;
  /** The control server's id of the turn: by it, sameness is decided (SURVIVAL-004.4). */
  readonly controlTurnId: string;
  readonly outcome: TurnOutcome;
  /** RFC 3339, UTC. */
  readonly endedAt: string;
}

/** Applies outcomes durably. */
export interface OutcomeWriter {
  /**
   * Ends the turn with this outcome unless it has ended; resolves once that is durable, with the state its session is in then.
   * Rejects when it could not be made durable.
   */
  apply(application: OutcomeApplication): Promise<{ readonly sessionState: SessionState }>;
}
