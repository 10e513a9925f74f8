/** Which prompt is meant: one dispatch attempt of one execution (GENERATION-01). */
export interface PromptIdentity {
  readonly executionId: string;
  /** At least 1. */
  readonly promptGeneration: number;
}
