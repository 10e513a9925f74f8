/** How an agent is run, as its profile says now. */
export interface AgentProfile {
  /** Program and arguments. */
  readonly command: readonly string[];
}

/** The agent profiles of the host: asked at recovery as at launch, so both follow what they say now (CONTRACT-07). */
export interface AgentProfiles {
  /** The profile, or null when there is none of that name. */
  resolve(agentProfileId: string): Promise<AgentProfile | null>;
}
