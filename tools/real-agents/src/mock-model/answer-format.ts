/** An answer of the model in one dialect, as the objects that are streamed one after the other. */
export interface AnswerFormat {
  /** What comes before anything else. */
  opening(): readonly object[];
  text(text: string): object;
  /** A whole call of a tool. */
  toolCall(name: string, input: Readonly<Record<string, unknown>>): object;
  /** The last ones: why the answer ends, and what it cost. */
  closing(): readonly object[];
  /** What is sent after all objects, as it is. */
  readonly farewell: string;
}
