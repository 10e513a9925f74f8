/** Stopping an agent takes its grace and more; the control server bounds it. In milliseconds. */
export const STOP_TIMEOUT_MS = 60_000;
