/** What is known of an instance's use at one moment. */
export interface InstanceUse {
  readonly attached: boolean;
  readonly requestsInFlight: number;
  readonly turnActive: boolean;
  /** Since its last request, stream or output of its agent, in milliseconds. */
  readonly quietMs: number;
}

/** Whether an instance is idle long enough to be stopped. A timeout of 0 means never. */
export function isIdle(use: InstanceUse, idleTimeoutMs: number): boolean {
  if (idleTimeoutMs === 0) return false;
  return !use.attached && use.requestsInFlight === 0 && !use.turnActive && use.quietMs >= idleTimeoutMs;
}
