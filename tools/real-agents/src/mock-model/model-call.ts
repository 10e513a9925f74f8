/** A call of the model, as it stands. */
export interface ModelCall {
  readonly kind: 'scripted' | 'side' | 'refused';
  /** Which answer of its script it got, from 0; 0 for others. */
  readonly answer: number;
  /** How many answers of the model the agent sent back with it: what it remembers of the conversation. */
  readonly answersBefore: number;
  /** How many pieces of text were sent so far. */
  readonly textsSent: number;
  /** `cut`: the agent went away before the answer was whole. `refused`: it got an error, see `why`. */
  readonly state: 'answering' | 'at_gate' | 'answered' | 'cut' | 'refused';
  /** Why it was refused; null for others. */
  readonly why: string | null;
}
