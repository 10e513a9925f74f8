import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { FileAccessError, asFileAccessError } from './file-access-error.ts';
import { pinInside } from './pinned-path.ts';
import type { SourceRoots } from './source-roots.ts';

/** Which bytes of a file. */
export interface FileSlice {
  readonly offset: number;
  readonly limit: number;
}

/** Opens a regular file inside the roots for reading; nothing else is ever opened. Rejects with {@link FileAccessError}. */
export async function openForReading(where: SourceRoots, requested: string): Promise<FileHandle> {
  await using file = await pinInside(where, requested);
  if (!file.stats.isFile()) {
    throw new FileAccessError({ code: 'wrong_kind', path: requested, why: 'it is not a regular file' });
  }
  try {
    return await open(file.at, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw asFileAccessError(error, requested);
  }
}

/** A slice of a file; shorter than the limit only where the file ends. */
export async function readSlice(
  where: SourceRoots,
  requested: string,
  { offset, limit }: FileSlice,
): Promise<Buffer> {
  await using handle = await openForReading(where, requested);
  // No more is set aside than the file has, as far as is known; it may grow or shrink meanwhile.
  const { size } = await handle.stat();
  const slice = Buffer.alloc(Math.max(0, Math.min(limit, size - offset)));
  let filled = 0;
  while (filled < slice.length) {
    const { bytesRead } = await handle.read(slice, filled, slice.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return slice.subarray(0, filled);
}
