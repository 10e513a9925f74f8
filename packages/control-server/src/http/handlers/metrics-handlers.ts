import { renderMetrics } from '../../diagnostics/metrics.ts';
import type { Handlers } from '../handler.ts';

/** The server, measured. */
export const metricsHandlers: Handlers<'getMetrics'> = {
  getMetrics: async ({ instances, requests, startedAt }) =>
    await renderMetrics({
      instances: instances.list().map((instance) => instance.describe()),
      requests,
      startedAt,
      residentMemoryBytes: process.memoryUsage.rss(),
    }),
};
