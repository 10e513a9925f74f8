import { renderMetrics } from '../../diagnostics/metrics.ts';
import type { Handlers } from '../handler.ts';

/** The server, measured. */
export const metricsHandlers: Handlers<'getMetrics'> = {
  getMetrics: async ({ instances, requests, startedAt }) =>
    await renderMetrics({
      instances: instances.list().map((instance) => instance.describe()),
      journals: new Map(instances.list().map(({ instanceId, journal }) => [instanceId, journal.figures])),
      requests,
      startedAt,
      residentMemoryBytes: process.memoryUsage.rss(),
    }),
};
