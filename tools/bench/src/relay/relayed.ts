/** What either side tells of one flood. */
export interface Relayed {
  /** From sending the prompts until the end of every flood was durably stored. */
  readonly ms: number;
  /** How many updates the floods have brought into the database. */
  readonly stored: number;
}
