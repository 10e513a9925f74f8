import { z } from 'zod';

/** A JSON object that Holdfast carries but does not interpret: it leaves exactly as it came. */
export type JsonObject = { readonly [key: string]: unknown };

export const JsonObject = z
  .custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object' });
