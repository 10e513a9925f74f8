import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { MAX_DIRECTORY_ENTRIES, type DirectoryEntry } from '@holdfast/control-protocol';
import { FileAccessError, asFileAccessError } from './file-access-error.ts';
import { entryOf, pinInside, type PinnedPath } from './pinned-path.ts';
import type { SourceRoots } from './source-roots.ts';

/** The entries of a directory by name. */
export interface DirectoryListing {
  readonly entries: DirectoryEntry[];
  /** Whether there are more than one listing holds. */
  readonly truncated: boolean;
}

/** Lists a directory inside the roots; rejects with {@link FileAccessError}. */
export async function listDirectory(where: SourceRoots, requested: string): Promise<DirectoryListing> {
  await using directory = await pinInside(where, requested);
  if (!directory.stats.isDirectory()) {
    throw new FileAccessError({ code: 'wrong_kind', path: requested, why: 'it is not a directory' });
  }
  try {
    const { names, truncated } = await namesIn(directory);
    const entries = await Promise.all(names.map(async (name) => await describeEntry(directory, name)));
    return { entries: entries.filter((entry) => entry !== null), truncated };
  } catch (error) {
    throw asFileAccessError(error, requested);
  }
}

async function namesIn(directory: PinnedPath): Promise<{ names: string[]; truncated: boolean }> {
  const names: string[] = [];
  // The last part makes it the directory itself and not the link to it.
  for await (const { name } of await opendir(entryOf(directory, '.'))) {
    if (names.length === MAX_DIRECTORY_ENTRIES) return { names: names.toSorted(), truncated: true };
    names.push(name);
  }
  return { names: names.toSorted(), truncated: false };
}

/** Null when the entry has gone since it was listed. */
async function describeEntry(directory: PinnedPath, name: string): Promise<DirectoryEntry | null> {
  try {
    const stats = await lstat(entryOf(directory, name));
    return { name, kind: kindOf(stats), sizeBytes: stats.size, modifiedAt: stats.mtime.toISOString() };
  } catch {
    return null;
  }
}

function kindOf(stats: Stats): DirectoryEntry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}
