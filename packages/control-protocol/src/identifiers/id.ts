import { z } from 'zod';

/** An opaque id: 1 to 128 characters of `[A-Za-z0-9_-]`. Safe in a path, a URL and a log line. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -');
export type Id = z.infer<typeof Id>;

/** An RFC 3339 time in UTC, as it stands on the wire, e.g. `2026-11-30T12:00:00.000Z`. */
export const Timestamp = z.iso.datetime();
export type Timestamp = z.infer<typeof Timestamp>;

/** A whole, non-negative number of milliseconds. Field names that hold one end in `Ms`. */
export const Milliseconds = z.int().nonnegative();

/** A journal position: events of an instance are numbered from 1 without gaps; 0 stands before the first. */
export const SequenceNumber = z.int().nonnegative();
export type SequenceNumber = z.infer<typeof SequenceNumber>;

/**
 * The number of one dispatch attempt within an execution (GENERATION-01). 0 marks activity that no prompt started
 * (GENERATION-07); a prompt's is at least 1.
 */
export const PromptGeneration = z.int().nonnegative();
export type PromptGeneration = z.infer<typeof PromptGeneration>;
