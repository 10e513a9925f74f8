import { z } from 'zod';
import { Timestamp } from '../identifiers/id.ts';
import { InstanceParams } from './instances.ts';
import { operation } from './operation.ts';

/** What one answer holds at most, in bytes; the rest is read with another `offset`. */
export const MAX_FILE_SLICE_BYTES = 8 * 1024 * 1024;
const DEFAULT_SLICE_BYTES = 1024 * 1024;

/** How many entries one listing holds at most. */
export const MAX_DIRECTORY_ENTRIES = 10_000;

/** Absolute, or relative to the instance's workspace. It must lead into one of the source roots, symbolic links included. */
const RequestedPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => !path.includes('\0'), 'must not contain NUL');

// A query parameter is text on the wire and a number in the client.
function wholeNumber(least: number, most: number): z.ZodType<number, number | string> {
  return z
    .custom<number | string>(
      (value) => typeof value === 'number' || (typeof value === 'string' && /^\d{1,16}$/.test(value)),
      'must be a whole number',
    )
    .transform(Number)
    .pipe(z.int().min(least).max(most));
}

/** One entry of a directory. */
export const DirectoryEntry = z.object({
  name: z.string(),
  /** What the entry itself is: a symbolic link is not followed. `other` are devices, sockets and pipes. */
  kind: z.enum(['file', 'directory', 'symlink', 'other']),
  sizeBytes: z.int().nonnegative(),
  modifiedAt: Timestamp,
});
export type DirectoryEntry = z.infer<typeof DirectoryEntry>;

const FILE_ERRORS = ['instance_not_found', 'path_outside_roots', 'file_not_found'] as const;

export const fileOperations = {
  listFiles: operation({
    summary: 'Lists a directory inside the source roots, 10,000 entries at most, by name.',
    method: 'GET',
    path: '/instances/{instanceId}/files',
    access: 'driver',
    params: InstanceParams,
    query: z.strictObject({ path: RequestedPath.default('.') }),
    response: z.object({ entries: z.array(DirectoryEntry), truncated: z.boolean() }),
    errors: FILE_ERRORS,
    noStore: true,
  }),
  readFile: operation({
    summary:
      'Reads a slice of a file inside the source roots; fewer bytes than `limit` mean that the file ends there.',
    method: 'GET',
    path: '/instances/{instanceId}/file',
    access: 'driver',
    params: InstanceParams,
    query: z.strictObject({
      path: RequestedPath,
      /** In bytes, from the start of the file. */
      offset: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
      limit: wholeNumber(1, MAX_FILE_SLICE_BYTES).default(DEFAULT_SLICE_BYTES),
    }),
    answers: 'bytes',
    response: z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'must be bytes'),
    errors: FILE_ERRORS,
    noStore: true,
  }),
};
