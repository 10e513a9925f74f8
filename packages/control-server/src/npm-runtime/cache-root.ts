import { lstat, realpath } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { ControlError } from '@holdfast/control-protocol';
import { systemCode } from '../ports/system-error.ts';

/**
 * The real path of a cache that things may be removed from; null when there is no such directory. Throws `unsafe_cache_root` for
 * anything that is no plain directory of its own: a relative path, a file, a symbolic link, `/`, a home directory or one above it.
 */
export async function checkCacheRoot(answer: string, homes: readonly string[]): Promise<string | null> {
  if (resolve(answer) !== answer) {
    throw unsafe('npm names no plain absolute path');
  }
  const found = await lstatIfThere(answer);
  if (found === null) return null;
  // A symbolic link is no directory here either.
  if (!found.isDirectory()) throw unsafe('it is not a directory');
  const root = await realpath(answer);
  for (const home of ['/', ...homes]) {
    if (isWithin(await realpathIfThere(home), root)) throw unsafe('it is the home directory, or above it');
  }
  return root;
}

/** Whether a path is a directory or lies within it. */
function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith('../'));
}

/** The error for a cache that nothing is removed from. Names no path: the caller may not know the machine. */
export function unsafe(why: string): ControlError {
  return new ControlError(
    'unsafe_cache_root',
    `Nothing was removed from the npm cache of the agent: ${why}. Set npm’s cache to a directory of its own.`,
  );
}

/** What is at a path, itself and not what it may point to; null when there is nothing. */
export async function lstatIfThere(path: string): Promise<Awaited<ReturnType<typeof lstat>> | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw unsafe(`it cannot be looked at (${systemCode(error) ?? 'unknown'})`);
  }
}

async function realpathIfThere(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return path;
  }
}
