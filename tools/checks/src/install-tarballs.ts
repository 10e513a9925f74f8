/**
 * Part of `npm run package:check`, after a build: packs every public package, installs the tarballs in an empty project
 * and uses them there as a stranger would.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { consumerConfig, consumerSource, importableSpecifiers, ourFindings } from './consumer.ts';
import { judgePackedPackage } from './packed-package.ts';
import { readManifest, readWorkspaces } from './workspace.ts';

const STEP_DEADLINE_MS = 5 * 60_000;
const USE_DEADLINE_MS = 2 * 60_000;

const { values } = parseArgs({
  options: { root: { type: 'string', default: join(import.meta.dirname, '../../..') } },
});
const { root } = values;
const published = readWorkspaces(root).filter((workspace) => !workspace.manifest.private);
const place = mkdtempSync(join(tmpdir(), 'holdfast-tarballs-'));
const project = join(place, 'project');
const tarballs = join(place, 'tarballs');

try {
  mkdirSync(project);
  mkdirSync(tarballs);
  const problems = check();
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  else
    process.stdout.write(
      `${String(published.length)} packages install, import, type-check and run from their tarballs.\n`,
    );
} finally {
  rmSync(place, { recursive: true });
}

function check(): string[] {
  const unbuilt = published.filter(({ folder }) => !existsSync(join(root, folder, 'dist')));
  if (unbuilt.length > 0)
    return unbuilt.map(({ folder }) => `${folder}: has no dist; run \`npm run build\` first.`);

  const folders = published.map(({ folder }) => `./${folder}`);
  const pack = run('npm', ['pack', '--ignore-scripts', '--pack-destination', tarballs, ...folders], root);
  if (!pack.ok) return [`npm pack failed:\n${pack.output}`];

  const install = installTarballs();
  if (!install.ok) return [`npm install of the tarballs failed:\n${install.output}`];

  return [...checkFiles(), ...checkImports(), ...checkTypes(), ...checkCommands()];
}

/** Without the network where npm's cache has what the packages depend on. */
function installTarballs(): Outcome {
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'stranger', private: true, type: 'module' }),
  );
  const files = readdirSync(tarballs).map((file) => join(tarballs, file));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...files];
  const install = (how: string): Outcome => run('npm', [...args, how], project);
  const offline = install('--offline');
  if (offline.ok) return offline;
  const online = install('--prefer-offline');
  // A registry that stumbles gets a second chance.
  return online.ok ? online : install('--prefer-offline');
}

function checkFiles(): string[] {
  return published.flatMap(({ folder, manifest }) => {
    const installed = join(project, 'node_modules', manifest.name);
    const files = globSync('**', { cwd: installed, exclude: ['node_modules'] }).filter((file) =>
      statSync(join(installed, file)).isFile(),
    );
    return judgePackedPackage(readManifest(installed), files, existsSync(join(root, folder, 'CHANGELOG.md')));
  });
}

function checkImports(): string[] {
  return published
    .flatMap(({ manifest }) => importableSpecifiers(manifest))
    .flatMap((specifier) => {
      const source = `const names = Object.keys(await import('${specifier}')); if (names.length === 0) process.exit(3);`;
      const { ok, output } = run(
        process.execPath,
        ['--input-type=module', '-e', source],
        project,
        USE_DEADLINE_MS,
      );
      return ok
        ? []
        : [`import '${specifier}' failed, exported nothing, or did not let the process end:\n${output}`];
    });
}

function checkTypes(): string[] {
  writeFileSync(
    join(project, 'consumer.ts'),
    consumerSource(published.flatMap(({ manifest }) => importableSpecifiers(manifest))),
  );
  writeFileSync(join(project, 'tsconfig.json'), consumerConfig(join(root, 'node_modules/@types')));
  const tsc = join(root, 'node_modules/.bin/tsc');
  const { ok, output } = run(process.execPath, [tsc, '-p', 'tsconfig.json', '--pretty', 'false'], project);
  if (!ok && !output.includes('error TS')) return [`tsc did not run:\n${output}`];
  return ourFindings(output).map((finding) => `the types of the tarballs: ${finding}`);
}

function checkCommands(): string[] {
  return published.flatMap(({ manifest }) =>
    Object.entries(manifest.bin).flatMap(([command, file]) => {
      const path = join(project, 'node_modules', manifest.name, file);
      const use = (flag: string): Outcome => run(process.execPath, [path, flag], project, USE_DEADLINE_MS);
      const [version, help] = [use('--version'), use('--help')];
      return [
        ...(version.ok && version.output.includes(manifest.version)
          ? []
          : [`${command} --version must print ${manifest.version} and end with 0:\n${version.output}`]),
        ...(help.ok && help.output.includes(command)
          ? []
          : [`${command} --help must name the command and end with 0:\n${help.output}`]),
      ];
    }),
  );
}

interface Outcome {
  readonly ok: boolean;
  /** What it printed, on both streams, and why it could not run or was ended. */
  readonly output: string;
}

function run(command: string, args: readonly string[], cwd: string, timeout = STEP_DEADLINE_MS): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, timeout, encoding: 'utf8' });
  return { ok: status === 0, output: [stdout, stderr, error?.message ?? ''].join('') };
}
