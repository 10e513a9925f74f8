import { z } from 'zod';
import { Id, PromptGeneration, SequenceNumber, Timestamp } from '../identifiers/id.ts';
import { JsonObject } from '../identifiers/json-object.ts';

/**
 * How a turn ended. `stopReason` is the agent's own word where it gave one, else what the control server saw
 * (`agent_exited`, `cancel_unanswered`, …). `usage` is the agent's own object, untouched;
 * above 64 KiB it is left out.
 */
export const TurnOutcome = z.object({
  kind: z.enum(['completed', 'cancelled', 'refused', 'failed']),
  stopReason: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  usage: JsonObject.optional(),
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/** An outcome that a control server keeps until a backend acknowledges it by turn id (SURVIVAL-004.1, .6). */
export const RetainedOutcome = z.object({
  turnId: Id,
  promptGeneration: PromptGeneration,
  outcome: TurnOutcome,
  endedAt: Timestamp,
  /** The sequence number of the `turn_ended` event of the same end. */
  seq: SequenceNumber,
});
export type RetainedOutcome = z.infer<typeof RetainedOutcome>;

/** A turn that has not ended. With generation 0 it is one that no prompt started; such a turn is never retained (GENERATION-07). */
export const ActiveTurn = z.object({ turnId: Id, promptGeneration: PromptGeneration, startedAt: Timestamp });
export type ActiveTurn = z.infer<typeof ActiveTurn>;

/** The answer to "what about this instance's turns?". Reading it discards nothing. */
export const TurnReport = z.object({
  active: ActiveTurn.nullable(),
  retained: z.array(RetainedOutcome),
  /** The highest prompt generation the instance ever accepted; 0 before the first prompt. */
  lastPromptGeneration: PromptGeneration,
});
export type TurnReport = z.infer<typeof TurnReport>;

/** A prompt is refused while so many outcomes are unacknowledged, which bounds what a server retains. */
export const MAX_RETAINED_OUTCOMES = 32;
