/** One update in its place, as it travels and as its `event` is stored. */
export interface BareEvent {
  readonly seq: number;
  readonly at: string;
  readonly event: { readonly type: 'session_update'; readonly update: unknown };
}

/** What the bare relay sends. */
export interface BareBatch {
  readonly events: readonly BareEvent[];
  /** No more will come of this flood. */
  readonly end: boolean;
}

/** What the bare backend sends: a prompt's text, or the number up to which all is stored. */
export type BareRequest = { readonly prompt: string } | { readonly ack: number };
