import type { TurnRecord } from '@holdfast/turn-ledger';
import type { Session } from '../sessions/session.ts';
import type { Turn } from './turn.ts';

/** A prompt that has ended, as a host's `onTurnComplete` gets it. */
export interface CompletedTurn {
  /** The turn as the ledger has it, with its outcome. */
  readonly turn: TurnRecord;
  /** The turn of the prompt that waited for this end and has been accepted since, or null. */
  readonly next: Turn | null;
}

/** Decides what follows the end of a prompt. */
export type OnTurnComplete = (ended: CompletedTurn, session: Session) => Promise<void> | void;
