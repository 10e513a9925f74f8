import { z } from 'zod';
import { operation } from './operation.ts';

export const metricsOperations = {
  getMetrics: operation({
    summary: 'The counts and levels of the server and its instances, as OpenMetrics text.',
    method: 'GET',
    path: '/metrics',
    access: 'driver',
    answers: 'openmetrics',
    response: z.string(),
  }),
};
