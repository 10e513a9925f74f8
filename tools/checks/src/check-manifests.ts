/** Part of `npm run lint`: the lockfile, the package.json of every public package, and the reasons for dependencies. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { judgeDependencyReasons } from './dependency-reasons.ts';
import { judgeLockfile } from './lockfile.ts';
import { judgePackage } from './package-manifest.ts';
import { readManifest, readWorkspaces } from './workspace.ts';

const { values } = parseArgs({
  options: { root: { type: 'string', default: join(import.meta.dirname, '../../..') } },
});
const read = (path: string): string => readFileSync(join(values.root, path), 'utf8');
const exists = (path: string): boolean => existsSync(join(values.root, path));
const license = read('LICENSE');

const surroundings = {
  root: readManifest(values.root),
  workspaces: readWorkspaces(values.root),
  exists,
  isOurLicense: (path: string): boolean => exists(path) && read(path) === license,
};
const reasons = exists('docs/dependencies.md') ? read('docs/dependencies.md') : '';
const problems = [
  ...judgeLockfile(read('package-lock.json')),
  ...surroundings.workspaces
    .filter((workspace) => !workspace.manifest.private)
    .flatMap((workspace) => judgePackage(workspace, surroundings)),
  ...judgeDependencyReasons(reasons, surroundings.root, surroundings.workspaces),
];

for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
