import { createHash } from 'node:crypto';

/** The name that npm gives the directory in which it installs one package to run it: its own rule, for a single spec. */
export function executionKey(packageSpec: string): string {
  return createHash('sha512').update(packageSpec).digest('hex').slice(0, 16);
}
