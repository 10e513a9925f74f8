/**
 * What a session is doing. `starting`: it has no agent that could take a prompt yet; `running`: a turn is open;
 * `stopped`: its host ended it, and no outcome that arrives later changes that.
 */
export const SESSION_STATES = ['starting', 'running', 'waiting_for_input', 'failed', 'stopped'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Passthrough sessions are neither guarded nor re-tracked (SURVIVAL-005.3). */
export const SESSION_MODES = ['managed', 'passthrough'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];
