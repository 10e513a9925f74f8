import { z } from 'zod';

/**
 * A JSON object that Holdfast carries but does not interpret: it leaves as it came, unknown fields included. Its numbers are those of
 * JavaScript: an integer beyond 2^53 may be another one, and what is beyond 1.8e308 is null.
 */
export type JsonObject = { readonly [key: string]: unknown };

export const JsonObject = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object' });
