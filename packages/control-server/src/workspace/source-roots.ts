import { isAbsolute, relative, resolve, sep } from 'node:path';

/** Where the files of an instance may be: requested paths are taken from `workspacePath`, and must lead into one of `roots`. */
export interface SourceRoots {
  readonly workspacePath: string;
  readonly roots: readonly string[];
}

/** Whether a normal, absolute path is a directory or something below it. Nothing is looked up. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The absolute path that is meant, without `.` and `..`. Nothing is looked up. */
export function requestedPath({ workspacePath }: SourceRoots, requested: string): string {
  return resolve(workspacePath, requested);
}
