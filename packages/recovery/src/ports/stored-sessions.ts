/** What the durable store says of a session beside its rows in the inventory. */
export interface StoredSession {
  /** The host's own name for the environment that the session works in, or null where it gave none. */
  readonly taskEnvironmentId: string | null;
}

/** The sessions of the host's durable store. */
export interface StoredSessions {
  /**
   * The session, or null when there is none of that id. A rejection and silence are failed reads, tried again on the read
   * budget; the signal aborts when the answer is waited for no more.
   */
  read(sessionId: string, signal: AbortSignal): Promise<StoredSession | null>;
}
