/** What a backend of the demo tells, one JSON line each. */
export type BackendMessage =
  | { readonly kind: 'said'; readonly text: string }
  | { readonly kind: 'session'; readonly name: string; readonly agentPid: number; readonly turnId: string }
  | {
      readonly kind: 'event';
      readonly name: string;
      readonly position: number;
      readonly type: string;
      readonly text: string;
    }
  | { readonly kind: 'applied'; readonly turnId: string }
  | { readonly kind: 'adopted'; readonly sessions: number; readonly ms: number }
  | { readonly kind: 'result'; readonly sessions: readonly SessionResult[] };

/** What the second backend found about one session when all was done. */
export interface SessionResult {
  readonly name: string;
  readonly agentPid: number | null;
  readonly outcome: string;
  readonly followUp: string;
  /** How many events the control server has numbered, and how many the ledger holds. */
  readonly produced: number;
  readonly positions: readonly number[];
  /** The numbered chunks of the first turn, in the order of the ledger. */
  readonly chunks: readonly number[];
}
