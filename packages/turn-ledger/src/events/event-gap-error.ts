/** Events are missing between what is stored and what was handed in; nothing was stored. Attach again with the cursor. */
export class EventGapError extends Error {
  override readonly name = 'EventGapError';
  readonly code = 'event_gap';
  readonly executionId: string;
  /** The sequence number that had to come next. */
  readonly expectedSeq: number;
  /** The one that came. */
  readonly receivedSeq: number;

  constructor(facts: { executionId: string; expectedSeq: number; receivedSeq: number }) {
    super(
      `Execution ${facts.executionId} is at event ${String(facts.expectedSeq - 1)}, so ${String(facts.expectedSeq)} is next, ` +
        `but ${String(facts.receivedSeq)} came; attach its stream again after ${String(facts.expectedSeq - 1)}.`,
    );
    this.executionId = facts.executionId;
    this.expectedSeq = facts.expectedSeq;
    this.receivedSeq = facts.receivedSeq;
  }
}
