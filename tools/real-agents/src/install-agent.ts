import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@holdfast/testbeds';
import { z } from 'zod';

/** An agent from npm. */
export interface AgentPackage {
  readonly name: string;
  /** An exact version. */
  readonly version: string;
  /** The name of its command. */
  readonly bin: string;
  /** The packages with install scripts, and whether the agent needs them to run. */
  readonly installScripts: Readonly<Record<string, boolean>>;
}

// Some hundred megabytes, over whatever line there is.
const INSTALL_TIMEOUT_MS = 15 * 60_000;

/** Where npm, run by npm, would look for another project than the one it is told. */
const OUTER_NPM = [
  'npm_config_workspace',
  'npm_config_workspaces',
  'npm_config_local_prefix',
  'npm_config_global',
];

/** npm could not install an agent; the message holds what it wrote. */
class AgentNotInstalledError extends Error {
  override readonly name = 'AgentNotInstalledError';
  readonly code = 'agent_not_installed';
}

/**
 * The path of an agent's command, installed below `cache` if it is not there yet. A folder of the cache is whole or absent:
 * it is prepared beside its place, also when two do it at once. Throws `AgentNotInstalledError`.
 */
export async function installAgent(agent: AgentPackage, cache: string): Promise<string> {
  const place = join(cache, `${agent.name.replace('/', '+')}@${agent.version}`);
  const command = join(place, 'node_modules', '.bin', agent.bin);
  if (await isInstalled(agent, place)) return command;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${place}-unfinished-`);
  try {
    await npmInstall(agent, unfinished);
    await moveTo(place, unfinished);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  if (!(await isInstalled(agent, place))) {
    throw new AgentNotInstalledError(`npm ended well, but ${place} holds no ${agent.name}@${agent.version}`);
  }
  return command;
}

async function npmInstall({ name, version, installScripts }: AgentPackage, folder: string): Promise<void> {
  const spec = `${name}@${version}`;
  // npm may be told to refuse packages whose scripts were not judged, and from 12 on runs none that is not named.
  const project = { private: true, allowScripts: installScripts };
  await writeFile(join(folder, 'package.json'), JSON.stringify(project));
  const command = ['npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', '--save-exact', spec];
  const result = await runProgram(command, {
    cwd: folder,
    env: Object.fromEntries(OUTER_NPM.map((variable) => [variable, undefined])),
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
  if (result.exitCode !== 0) {
    throw new AgentNotInstalledError(
      `npm could not install ${spec} (${result.signal ?? `exit code ${String(result.exitCode)}`}):\n${result.stdout}\n${result.stderr}`,
    );
  }
}

async function moveTo(place: string, unfinished: string): Promise<void> {
  try {
    await rename(unfinished, place);
  } catch (error) {
    // Another process was faster; its copy is as good.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

async function isInstalled({ name, version }: AgentPackage, place: string): Promise<boolean> {
  try {
    const manifest = await readFile(join(place, 'node_modules', name, 'package.json'), 'utf8');
    return z.object({ version: z.string() }).parse(JSON.parse(manifest)).version === version;
  } catch {
    return false;
  }
}
