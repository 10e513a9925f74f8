/** What the endpoint looks at in a call of the model, whatever dialect it came in. */
export interface Conversation {
  readonly model: string;
  /** The oldest first. */
  readonly messages: readonly Message[];
  /** The names of the tools that the agent offers. */
  readonly tools: readonly string[];
}

/** One message; results of tools are nobody's. */
export interface Message {
  readonly speaker: 'user' | 'assistant' | 'nobody';
  readonly text: string;
}
