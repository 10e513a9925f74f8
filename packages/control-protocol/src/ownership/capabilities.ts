/** What a backend of this version cannot work without. */
export const REQUIRED_CAPABILITIES = [
  'instances.v1',
  'agents.acp.v1',
  'events.v1',
  'turns.v1',
  'permissions.v1',
] as const;

/** Agents that npm runs: `npmRuntime` in the start of an agent, and the repair of a runtime. */
export const NPM_RUNTIME_CAPABILITY = 'npm-runtime.v1';

/**
 * What this version of the control server can do beyond identity, proof, authentication and ownership shutdown, which
 * every version can (OWNERSHIP-004.6). Compatibility is set inclusion; versions are never ordered (OWNERSHIP-004.2).
 */
export const CAPABILITIES = [...REQUIRED_CAPABILITIES, NPM_RUNTIME_CAPABILITY] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** The required capabilities that are not offered; empty means compatible. */
export function missingCapabilities(required: readonly string[], offered: readonly string[]): string[] {
  return required.filter((capability) => !offered.includes(capability));
}
