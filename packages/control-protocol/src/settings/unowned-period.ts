import { formatDuration } from './duration.ts';

const SHORTEST_MS = 60_000;

/** The unowned period that a server keeps to, and why it is not the configured one where it is not. */
export interface UnownedPeriod {
  readonly periodMs: number;
  /** One sentence for each adjustment; empty when the configured value stands. */
  readonly adjustments: readonly string[];
}

/**
 * The unowned period in force (OWNERSHIP-003.4, .6, .7): below the idle timeout when idle reaping is on, else half of
 * it; at least one minute, applied last, so that it wins.
 */
export function unownedPeriodInForce(configuredMs: number, idleTimeoutMs: number): UnownedPeriod {
  const adjustments: string[] = [];
  let periodMs = configuredMs;
  if (idleTimeoutMs > 0 && periodMs >= idleTimeoutMs) {
    periodMs = Math.floor(idleTimeoutMs / 2);
    adjustments.push(
      `unowned period ${formatDuration(configuredMs)} is not below the idle timeout ` +
        `${formatDuration(idleTimeoutMs)}: set to half of that, ${formatDuration(periodMs)}`,
    );
  }
  if (periodMs < SHORTEST_MS) {
    const order =
      idleTimeoutMs > 0 && SHORTEST_MS >= idleTimeoutMs
        ? ', which breaks the order with the idle timeout'
        : '';
    adjustments.push(
      `unowned period ${formatDuration(periodMs)} is below the least of ${formatDuration(SHORTEST_MS)}: ` +
        `set to that${order}`,
    );
    periodMs = SHORTEST_MS;
  }
  return { periodMs, adjustments };
}
