/**
 * What is written down about the control server of a scope (OWNERSHIP-001.1): one record a scope, readable when no session
 * is alive. The credential itself is in a secret store; the record holds a reference to it.
 */
export interface ControlServerRecord {
  readonly scope: string;
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  readonly serverId: string;
  readonly credentialRef: string;
  /** The capability set observed at start or adoption (OWNERSHIP-004.5). */
  readonly capabilities: readonly string[];
  readonly logFile: string;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
}
