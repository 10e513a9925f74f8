/**
 * What this version of the control server can do beyond identity, proof, authentication and ownership shutdown, which
 * every version can (OWNERSHIP-004.6). Compatibility is set inclusion; versions are never ordered (OWNERSHIP-004.2).
 */
export const CAPABILITIES = [
  'instances.v1',
  'agents.acp.v1',
  'events.v1',
  'turns.v1',
  'permissions.v1',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** The required capabilities that are not offered; empty means compatible. */
export function missingCapabilities(required: readonly string[], offered: readonly string[]): string[] {
  return required.filter((capability) => !offered.includes(capability));
}
