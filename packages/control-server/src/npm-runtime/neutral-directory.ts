import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../ports/make-folder.ts';

// npm takes the nearest directory upwards that has one of these for its project. An empty node_modules makes that this one, also
// where the installation lies within a project; a package.json would not, as npm looks further up for a workspace then.
const MARK = 'node_modules';
const READ_BY_NPM = ['package.json', '.npmrc'];

/** What stands in the place of the directory is none. */
class NoDirectoryError extends Error {
  override readonly name = 'NoDirectoryError';
  readonly code = 'ENOTDIR';
}

/**
 * Makes sure of a directory to run npm in, where no project's settings or packages have a say, and removes what an agent that was
 * run in there may have left for npm. Throws the system's error.
 */
export function prepareNeutralDirectory(directory: string): void {
  makeFolder(directory);
  // Through a symbolic link the files of somebody else would go.
  if (!lstatSync(directory).isDirectory()) throw new NoDirectoryError(`${directory} is not a directory.`);
  for (const name of READ_BY_NPM) rmSync(join(directory, name), { recursive: true, force: true });
  const mark = join(directory, MARK);
  if (isEmptyDirectory(mark)) return;
  rmSync(mark, { recursive: true, force: true });
  mkdirSync(mark, { mode: 0o700 });
}

function isEmptyDirectory(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && readdirSync(path).length === 0;
}
