/** What either side tells of one flood. */
export interface Relayed {
  /** From sending the prompt until the end of the flood was durably stored. */
  readonly ms: number;
  /** How many updates the flood has brought into the database. */
  readonly stored: number;
}
