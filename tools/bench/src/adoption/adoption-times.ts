/** How long one adoption took. */
export interface AdoptionTimes {
  /** From the first contact with the control server to the last session. */
  readonly recoveryMs: number;
  /** The same with what comes before and after: opening the ledger, reading its rows and, with us, all that a host does. */
  readonly wholeMs: number;
  /** How many instances were taken over. */
  readonly instances: number;
}
