/** Options of a call that does nothing but what its name says. */
export interface CallSignal {
  /** Ends the call, as far as that is still possible; it rejects with the reason. */
  readonly signal?: AbortSignal;
}
