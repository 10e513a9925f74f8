import { Id, PromptGeneration, Timestamp, TurnOutcome } from '@holdfast/control-protocol';
import { z } from 'zod';
import type { LedgerDatabase } from '../database/ledger-database.ts';
import { checkInput, toEpochMs } from '../database/stored-values.ts';
import { applyOutcome, type ApplyOutcome, type ApplyResult } from './apply-outcome.ts';
import type { MapOutcome } from './outcome-effects.ts';

/** The outcomes of turns. */
export interface Outcomes {
  /**
   * Applies one outcome in one transaction: the turn becomes terminal, its session and task follow. Applying it again, in
   * whatever order and from wherever it was seen, changes nothing and says so (SURVIVAL-004.4, .6).
   */
  apply(outcome: ApplyOutcome): Promise<ApplyResult>;
}

const ApplyOutcomeInput = z.object({
  executionId: Id,
  promptGeneration: PromptGeneration,
  controlTurnId: Id,
  outcome: TurnOutcome,
  endedAt: Timestamp,
});

export function outcomeStore(
  database: LedgerDatabase,
  options: { readonly clock: () => number; readonly mapOutcome: MapOutcome },
): Outcomes {
  return {
    async apply(outcome) {
      const given = checkInput('outcome', ApplyOutcomeInput, outcome);
      const toApply = { ...given, endedAt: toEpochMs(given.endedAt) };
      return await database.transact(
        async (trx) =>
          await applyOutcome(trx, toApply, { mapOutcome: options.mapOutcome, now: options.clock() }),
      );
    },
  };
}
