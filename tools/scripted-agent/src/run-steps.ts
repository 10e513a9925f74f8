import type { StopReason } from '@agentclientprotocol/sdk';
import { perform } from './perform.ts';
import type { Step } from './steps.ts';
import type { Turn } from './turn.ts';

/** Does the steps in order until one of them ends the turn, or it is cancelled. */
export async function runSteps(turn: Turn, steps: readonly Step[]): Promise<StopReason> {
  try {
    for (const step of steps) {
      const stopReason = await perform(turn, step);
      if (stopReason !== undefined) return stopReason;
      turn.cancelled.throwIfAborted();
    }
    return 'end_turn';
  } catch (error) {
    if (turn.cancelled.aborted && error instanceof Error && error.name === 'AbortError') return 'cancelled';
    throw error;
  }
}
