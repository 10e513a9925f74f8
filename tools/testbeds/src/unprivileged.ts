import { readFileSync } from 'node:fs';

/** A user other than root, for programs that refuse to run as root. */
export interface UnprivilegedUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** What to put before a command so that this user runs it. */
  readonly prefix: readonly string[];
}

/** The first of the named users that this machine has, when this process is root; `undefined` when it is not. */
export function unprivilegedUser(...names: readonly string[]): UnprivilegedUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of names) {
    const [, , uid, gid] = users.find(([candidate]) => candidate === name) ?? [];
    if (uid === undefined || gid === undefined) continue;
    const prefix = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
    return { name, uid: Number(uid), gid: Number(gid), prefix };
  }
  throw new Error(`None of these users is there: ${names.join(', ')}.`);
}
