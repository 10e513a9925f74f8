import { constants, type Stats } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { FileAccessError, asFileAccessError } from './file-access-error.ts';
import { isInside, requestedPath, type SourceRoots } from './source-roots.ts';

/**
 * A file or directory inside the roots, held so that whatever is done to paths from now on, `at` still names it. Close it.
 */
export interface PinnedPath extends AsyncDisposable {
  readonly stats: Stats;
  /** A path to the pinned object itself; below it, where it is a directory, paths of its entries. */
  readonly at: string;
}

// Linux opens a place without opening what is there, which for a device or a pipe has effects of its own.
const O_PATH = 0o10000000;
const HAS_FD_PATHS = process.platform === 'linux';

/** The real path that a requested path leads to, and the roots it may be in; rejects with {@link FileAccessError}. */
export async function resolveInside(where: SourceRoots, requested: string): Promise<string> {
  const wanted = requestedPath(where, requested);
  const roots = await realRoots(where);
  if (![...where.roots, ...roots].some((root) => isInside(root, wanted))) throw outside(requested);
  try {
    const real = await realpath(wanted);
    if (!roots.some((root) => isInside(root, real))) throw outside(requested);
    return real;
  } catch (error) {
    throw asFileAccessError(error, requested);
  }
}

/**
 * Pins what is at a real path, whatever it is, and checks once more where that is: a directory on the way may have become a
 * symbolic link meanwhile. Rejects with {@link FileAccessError}.
 */
export async function pin(where: SourceRoots, real: string, requested: string): Promise<PinnedPath> {
  try {
    return await (HAS_FD_PATHS ? pinByDescriptor : pinByPath)(where, real, requested);
  } catch (error) {
    throw asFileAccessError(error, requested);
  }
}

/** Resolves and pins in one. */
export async function pinInside(where: SourceRoots, requested: string): Promise<PinnedPath> {
  return await pin(where, await resolveInside(where, requested), requested);
}

async function pinByDescriptor(where: SourceRoots, real: string, requested: string): Promise<PinnedPath> {
  const handle = await open(real, O_PATH | constants.O_NOFOLLOW);
  try {
    const at = `/proc/self/fd/${String(handle.fd)}`;
    // The kernel's own word on where the object is.
    await assertInside(where, await readlink(at), requested);
    return pinned(await handle.stat(), at, handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

// Where a descriptor has no path, a swap between this check and the use is not seen.
async function pinByPath(where: SourceRoots, real: string, requested: string): Promise<PinnedPath> {
  await assertInside(where, await realpath(real), requested);
  return pinned(await lstat(real), real, null);
}

async function assertInside(where: SourceRoots, actual: string, requested: string): Promise<void> {
  const roots = await realRoots(where);
  if (!roots.some((root) => isInside(root, actual))) throw outside(requested);
}

async function realRoots({ roots }: SourceRoots): Promise<string[]> {
  const real = await Promise.all(roots.map(async (root) => await realpath(root).catch(() => null)));
  return real.filter((root) => root !== null);
}

function pinned(stats: Stats, at: string, handle: FileHandle | null): PinnedPath {
  return {
    stats,
    at,
    async [Symbol.asyncDispose]() {
      await handle?.close();
    },
  };
}

function outside(path: string): FileAccessError {
  return new FileAccessError({
    code: 'outside_roots',
    path,
    why: 'it is outside the source roots of the instance',
  });
}

/** An entry of a pinned directory. */
export function entryOf(directory: PinnedPath, name: string): string {
  return join(directory.at, name);
}
