/**
 * One process for good, wherever a runtime runs agents. A pid alone is no identity: the system gives it again.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque, comparable for equality only: when it started, and in which life of its machine. */
  readonly startTime: string;
}

/** What looking for the process of an execution came to. */
export interface ProcessEvidence {
  /** `unknown`: it could not be looked for, or not told from another. */
  readonly process: 'running' | 'ended' | 'unknown';
  /** What was seen, in a few words for a person. */
  readonly detail: string;
}
