import { existsSync } from 'node:fs';
import { chmod, lstat, readdir, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../ports/system-error.ts';
import { lstatIfThere, unsafe } from './cache-root.ts';

/** Where npm keeps what it installed to run it, within its cache. */
const TREES = '_npx';

/** Whether npm has finished installing a package there: this file is the last that it writes. */
export function isInstalled(cacheRoot: string, key: string): boolean {
  return existsSync(join(cacheRoot, TREES, key, 'node_modules', '.package-lock.json'));
}

/** What is left of a removal that was cut short is recognised by this name, and removed with the next. */
const ASIDE = /^\.removed-by-holdfast-[0-9a-f]{16}-[0-9a-f]{32}$/;

/** What came of a removal. */
export interface Removal {
  readonly removed: boolean;
  /** Why something that is out of the way already could not be deleted; the next removal tries again. */
  readonly left: readonly string[];
}

/** What a removal is carried out with. */
export interface RemovalOptions {
  /** Gives up: the removal rejects with its reason. */
  readonly signal: AbortSignal;
  /** Ends the deletion, and leaves the rest to the next removal. */
  readonly deadline: AbortSignal;
  /** Unguessable, 32 hex digits. */
  readonly nextId: () => string;
}

/** A directory turned out to be another place than the one it was listed as: another file system, or behind a link. */
class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
  readonly code = 'elsewhere';
}

/**
 * Removes one execution tree of a cache that `checkCacheRoot` gave, and nothing else. It is renamed first, so that a tree that is
 * half gone is never run. Symbolic links in it are removed and never followed, other file systems in it are left alone. Rejects
 * with `unsafe_cache_root`.
 */
export async function removeExecutionTree(
  cacheRoot: string,
  key: string,
  options: RemovalOptions,
): Promise<Removal> {
  const trees = join(cacheRoot, TREES);
  if (!(await isPlainDirectory(trees, 'its _npx'))) return { removed: false, left: [] };
  options.signal.throwIfAborted();
  const removed = await setAside(trees, key, options.nextId);
  return { removed, left: await deleteAside(trees, options) };
}

async function setAside(trees: string, key: string, nextId: () => string): Promise<boolean> {
  const tree = join(trees, key);
  if (!(await isPlainDirectory(tree, 'the installed copy'))) return false;
  try {
    await rename(tree, join(trees, `.removed-by-holdfast-${key}-${nextId()}`));
    return true;
  } catch (error) {
    // Another server was faster.
    if (systemCode(error) === 'ENOENT') return false;
    throw unsafe(`the installed copy cannot be moved (${systemCode(error) ?? 'unknown'})`);
  }
}

async function isPlainDirectory(path: string, what: string): Promise<boolean> {
  const found = await lstatIfThere(path);
  if (found === null) return false;
  // A symbolic link is no directory here either.
  if (!found.isDirectory()) throw unsafe(`${what} is not a directory`);
  const real = await unlessGone(async () => await realpath(path));
  // The way to it had no link when the root was looked at.
  if (real !== undefined && real !== path) throw unsafe(`${what} is not where it was`);
  return real !== undefined;
}

/** Deletes what this removal, and any that was cut short, has set aside. */
async function deleteAside(trees: string, { signal, deadline }: RemovalOptions): Promise<string[]> {
  const stop = AbortSignal.any([signal, deadline]);
  const left: string[] = [];
  const attempt = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      signal.throwIfAborted();
      left.push(deadline.aborted ? 'deadline' : (systemCode(error) ?? 'unknown'));
    }
  };
  await attempt(async () => {
    const { dev } = await lstat(trees);
    for (const entry of await readdir(trees, { withFileTypes: true })) {
      const isAside = entry.isDirectory() && ASIDE.test(entry.name);
      if (isAside)
        await attempt(async () => {
          await deleteTree(join(trees, entry.name), dev, stop);
        });
    }
  });
  return left;
}

// Whoever still writes into the tree may add to a directory between the look and the removal.
const ROUNDS = 5;

/** Deletes a directory with all that is in it. Node's own `rm` cannot be stopped on its way. */
async function deleteTree(directory: string, device: number, stop: AbortSignal): Promise<void> {
  for (let round = 1; ; round += 1) {
    const found = await unlessGone(async () => await lstat(directory));
    if (found === undefined) return;
    // Since it was listed something else may have taken its place.
    if (!found.isDirectory()) {
      await unlessGone(async () => {
        await unlink(directory);
      });
      return;
    }
    const real = await unlessGone(async () => await realpath(directory));
    if (found.dev !== device || (real !== undefined && real !== directory)) {
      throw new ElsewhereError(`${directory} is not where it was.`);
    }
    if ((found.mode & 0o700) !== 0o700)
      await unlessGone(async () => {
        await chmod(directory, 0o700);
      });
    for (const entry of (await unlessGone(async () => await readdir(directory, { withFileTypes: true }))) ??
      []) {
      stop.throwIfAborted();
      const path = join(directory, entry.name);
      if (entry.isDirectory()) await deleteTree(path, device, stop);
      else
        await unlessGone(async () => {
          await unlink(path);
        });
    }
    try {
      await unlessGone(async () => {
        await rmdir(directory);
      });
      return;
    } catch (error) {
      if (systemCode(error) !== 'ENOTEMPTY' || round >= ROUNDS) throw error;
    }
  }
}

/** What is gone already needs no removal. */
async function unlessGone<T>(step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
