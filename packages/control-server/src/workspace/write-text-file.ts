import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { basename, dirname, relative, sep } from 'node:path';
import { systemCode } from '../ports/system-error.ts';
import { FileAccessError, asFileAccessError } from './file-access-error.ts';
import { entryOf, pin, resolveInside, type PinnedPath } from './pinned-path.ts';
import { requestedPath, type SourceRoots } from './source-roots.ts';

/**
 * Writes a whole file inside the roots; directories on the way are made. A reader sees the old text or the new, never a part,
 * and an existing file keeps its permissions. Rejects with {@link FileAccessError}.
 */
export async function writeTextFile(where: SourceRoots, requested: string, text: string): Promise<void> {
  const target = await resolveTarget(where, requested);
  await using directory = await makeDirectory(where, target.ancestor, target.missing, requested);
  const { name } = target;
  try {
    const mode = await modeOfExisting(directory, name, requested);
    await replaceFile(directory, name, text, mode);
  } catch (error) {
    throw asFileAccessError(error, requested);
  }
}

interface Target {
  /** The real path of the deepest directory that is there. */
  readonly ancestor: string;
  /** The directories to make below it. */
  readonly missing: readonly string[];
  readonly name: string;
}

/** Where the file will be. One that is there is resolved whole, so that a link to it is written through. */
async function resolveTarget(where: SourceRoots, requested: string): Promise<Target> {
  const wanted = requestedPath(where, requested);
  const real = await resolveIfThere(where, wanted, requested);
  if (real !== null) return { ancestor: dirname(real), missing: [], name: basename(real) };
  if (await isDanglingLink(wanted)) {
    const why = 'it is a symbolic link that leads nowhere';
    throw new FileAccessError({ code: 'not_found', path: requested, why });
  }
  let there = dirname(wanted);
  let ancestor = await resolveIfThere(where, there, requested);
  while (ancestor === null) {
    there = dirname(there);
    ancestor = await resolveIfThere(where, there, requested);
  }
  const missing = relative(there, dirname(wanted))
    .split(sep)
    .filter((part) => part !== '');
  return { ancestor, missing, name: basename(wanted) };
}

async function resolveIfThere(where: SourceRoots, path: string, requested: string): Promise<string | null> {
  try {
    return await resolveInside(where, path);
  } catch (error) {
    if (!(error instanceof FileAccessError)) throw error;
    if (error.code === 'not_found') return null;
    throw new FileAccessError({ code: error.code, path: requested, why: error.why });
  }
}

async function isDanglingLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Pins the directory, making what is missing; each step starts from the pinned one before, so no link is followed. */
async function makeDirectory(
  where: SourceRoots,
  ancestor: string,
  missing: readonly string[],
  requested: string,
): Promise<PinnedPath> {
  let directory = await pin(where, ancestor, requested);
  try {
    for (const name of missing) {
      const path = entryOf(directory, name);
      await makeUnlessThere(path);
      const next = await pin(where, path, requested);
      await directory[Symbol.asyncDispose]();
      directory = next;
    }
    if (directory.stats.isDirectory()) return directory;
    throw new FileAccessError({
      code: 'wrong_kind',
      path: requested,
      why: 'what should be its directory is none',
    });
  } catch (error) {
    await directory[Symbol.asyncDispose]();
    throw asFileAccessError(error, requested);
  }
}

async function makeUnlessThere(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

/** The permissions of the file that will be replaced; null when there is none yet. */
async function modeOfExisting(
  directory: PinnedPath,
  name: string,
  requested: string,
): Promise<number | null> {
  try {
    const stats = await lstat(entryOf(directory, name));
    if (stats.isFile()) return stats.mode & 0o7777;
    throw new FileAccessError({ code: 'wrong_kind', path: requested, why: 'it is not a regular file' });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

async function replaceFile(
  directory: PinnedPath,
  name: string,
  text: string,
  mode: number | null,
): Promise<void> {
  const aside = entryOf(directory, `.${randomUUID()}.holdfast`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode === null ? 0o666 : 0o600);
  try {
    try {
      await handle.writeFile(text, 'utf8');
      if (mode !== null) await handle.chmod(mode);
    } finally {
      await handle.close();
    }
    await rename(aside, entryOf(directory, name));
  } catch (error) {
    await unlink(aside).catch(() => undefined);
    throw error;
  }
}
