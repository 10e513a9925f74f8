/**
 * `npm test [-- <folder>…]`: runs the tests of every workspace, or of those in the folders named, and closes with one
 * line, `N passed, N failed, N skipped`.
 */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { parseTestResults, reportTests, type Ending, type TestCounts } from './test-results.ts';
import { readWorkspaces, type Workspace } from './workspace.ts';

/** No run takes this long; one that does has a test that never ends. */
const DEADLINE_MS = 45 * 60_000;

const { values, positionals } = parseArgs({
  options: { root: { type: 'string', default: join(import.meta.dirname, '../../..') } },
  allowPositionals: true,
});
const { root } = values;
const tested = pickWorkspaces(
  readWorkspaces(root).filter((workspace) => workspace.manifest.scripts['test'] !== undefined),
);

const resultsFile = (workspace: Workspace): string => join(root, workspace.folder, 'coverage/results.json');
for (const workspace of tested) rmSync(resultsFile(workspace), { force: true });

const ending = await runAll(tested.map((workspace) => workspace.manifest.name));
const report = reportTests(
  new Map(tested.map((workspace) => [workspace.manifest.name, readCounts(resultsFile(workspace))])),
  ending,
);
process.stdout.write(['', ...report.remarks, report.closingLine, ''].join('\n'));
process.exitCode = report.exitCode;

function pickWorkspaces(workspaces: readonly Workspace[]): readonly Workspace[] {
  if (positionals.length === 0) return workspaces;
  return positionals.map((folder) => {
    const found = workspaces.find((workspace) => workspace.folder === folder.replace(/\/$/, ''));
    if (found === undefined)
      throw new Error(`${folder} is no workspace with tests; name one like tools/checks`);
    return found;
  });
}

async function runAll(names: readonly string[]): Promise<Ending> {
  const nx = createRequire(join(root, 'package.json')).resolve('nx/bin/nx.js');
  // A cached result would claim a run that did not take place.
  const args = ['run-many', '-t', 'test', '-p', names.join(','), '--outputStyle=static', '--skip-nx-cache'];
  // nx ends its tasks when it gets the signal.
  const child = spawn(process.execPath, [nx, ...args], { cwd: root, stdio: 'inherit', timeout: DEADLINE_MS });
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      resolve({ code, signal });
    });
  });
}

/** Nothing where the file is missing, or cut off by an end of the run in the middle of it. */
function readCounts(file: string): TestCounts | undefined {
  try {
    return parseTestResults(readFileSync(file, 'utf8'), root);
  } catch {
    return undefined;
  }
}
