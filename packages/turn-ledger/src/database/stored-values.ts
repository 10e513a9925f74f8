import { Timestamp } from '@holdfast/control-protocol';
import { z } from 'zod';
import { issueLines, LedgerInputError, LedgerRowError } from './ledger-errors.ts';

/**
 * Text that every database keeps as it is: not empty, no NUL (PostgreSQL refuses it) and no lone surrogate (which becomes
 * U+FFFD). Text that people or agents write is stored as JSON instead, which escapes both.
 */
export const StorableText = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must not hold NUL or a lone surrogate');

/** The last guard before a database: the same text is refused by each, whatever it would do with it itself. */
export function assertStorableText(text: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return;
  throw new LedgerInputError({ what: 'text', issues: ['it must not hold NUL or a lone surrogate'] });
}

/** Checks a value at the door of the ledger. */
export function checkInput<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value);
  if (!checked.success) throw new LedgerInputError({ what, issues: issueLines(checked.error) });
  return checked.data;
}

/** A JSON column, or a column of a closed set: parsed as untrusted. */
export function readStored<T>(
  row: { readonly table: string; readonly key: string },
  schema: z.ZodType<T>,
  value: unknown,
): T {
  const read = schema.safeParse(value);
  if (!read.success) throw new LedgerRowError({ ...row, issues: issueLines(read.error) });
  return read.data;
}

/** As {@link readStored}, for a column that holds JSON text. */
export function readStoredJson<T>(
  row: { readonly table: string; readonly key: string },
  schema: z.ZodType<T>,
  text: string,
): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new LedgerRowError({ ...row, issues: [error instanceof Error ? error.message : String(error)] });
  }
  return readStored(row, schema, value);
}

/** Epoch milliseconds as they stand in a column, from a time of the wire. */
export function toEpochMs(timestamp: Timestamp): number {
  return Date.parse(checkInput('time', Timestamp, timestamp));
}

/** A time as it stands on the wire, from epoch milliseconds. */
export function toTimestamp(epochMs: number): Timestamp {
  return new Date(epochMs).toISOString();
}
