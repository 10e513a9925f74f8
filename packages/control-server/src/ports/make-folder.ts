import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from './system-error.ts';

/**
 * Makes a folder that only its owner may enter, with its parents; one that exists stays as it is. Throws the system's error. Not
 * `mkdir` with `recursive`: that never returns on file systems that answer ENOENT for what cannot be made, such as /proc.
 */
export function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}
