/**
 * Whether an agent that is started for a session with a conversation is asked to load it. `preferred`: a new one begins where the
 * agent cannot. `required`: the start fails then. `none`: a new one begins always.
 */
export type HistorySetting = 'preferred' | 'required' | 'none';

/** How an agent is run, as its profile says now. */
export interface AgentProfile {
  /** Which agent it is. Several profiles may run the same one. */
  readonly agentId: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Program and arguments for a session that has a conversation to load. */
  readonly continuationCommand: readonly string[];
  readonly history: HistorySetting;
}

/** The agent profiles of the host: asked at recovery as at launch, so both follow what they say now (CONTRACT-07). */
export interface AgentProfiles {
  /**
   * The profile, or null when there is none of that name. A rejection and silence are failed reads, tried again on the read
   * budget; the signal aborts when the answer is waited for no more.
   */
  resolve(agentProfileId: string, signal: AbortSignal): Promise<AgentProfile | null>;
}
