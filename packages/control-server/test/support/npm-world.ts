import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import type { StartAgent } from '@holdfast/control-protocol';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import { listProcesses, npmRegistry, type NpmPackage, type NpmRegistry } from '@holdfast/testbeds';
import { npmRuntimeCommand } from '@holdfast/control-protocol';
import type { ControlServerOptions } from '../../src/index.ts';
import { InstanceOf, ownedServer, type OwnedServer } from './owned-server.ts';

/** An owned server, and a registry for what npm runs on it. */
export interface NpmWorld extends OwnedServer {
  readonly registry: NpmRegistry;
  /** The npm cache of agents with `environment()`. */
  readonly cache: string;
  /** An instance whose agent has a PATH with this Node, a home and a cache of its own, and this registry. */
  instance(environment?: Readonly<Record<string, string>>): Promise<InstanceOf>;
}

/** The name of the package that most tests run. */
export const AGENT = '@acme/agent';

export async function npmWorld(options: Partial<ControlServerOptions> = {}): Promise<NpmWorld> {
  const owned = await ownedServer(options);
  const registry = await npmRegistry();
  const { home } = owned;
  const cache = home.path('npm-cache');
  return {
    ...owned,
    registry,
    cache,
    instance: async (environment = {}) =>
      await InstanceOf.create(owned, {
        environment: {
          PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
          HOME: await home.folder('user'),
          npm_config_cache: cache,
          npm_config_registry: registry.url,
          SCRIPTED_AGENT_STATE: home.path('agent-state'),
          ...environment,
        },
      }),
    async [Symbol.asyncDispose]() {
      await owned[Symbol.asyncDispose]();
      await registry[Symbol.asyncDispose]();
    },
  };
}

/** The scripted agent as a package. `before` is JavaScript that runs first. */
export function agentPackage(version: string, before = '', name = AGENT): NpmPackage {
  const [, agent = ''] = scriptedAgentCommand();
  const program = `#!/usr/bin/env node\n${before}\nimport(${JSON.stringify(agent)});\n`;
  return { name, version, files: { 'cli.js': program }, bin: { agent: 'cli.js' } };
}

/** What it takes to start a version of the agent; `--prefer-offline` unless told. */
export function npmStart(
  version: string,
  preference: '--prefer-offline' | '--prefer-online' = '--prefer-offline',
  name = AGENT,
): Pick<StartAgent, 'command' | 'npmRuntime'> {
  const packageSpec = `${name}@${version}`;
  return { command: npmRuntimeCommand(packageSpec, ['--acp'], preference), npmRuntime: { packageSpec } };
}

/** A directory with a program in the place of npm, for what npm itself does not do on demand. */
export async function insteadOfNpm(folder: string, script: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'npm'), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, 'npm'), 0o755);
  return [folder, process.env['PATH']].join(delimiter);
}

/** All that is below a folder: kinds, modes, contents. */
export function snapshot(root: string): Readonly<Record<string, string>> {
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
  return Object.fromEntries(found.map((path) => [path, describeEntry(join(root, path))]));
}

function describeEntry(path: string): string {
  const entry = lstatSync(path);
  const mode = (entry.mode & 0o7777).toString(8);
  if (entry.isSymbolicLink()) return `link ${readlinkSync(path)}`;
  return entry.isFile() ? `file ${mode} ${readFileSync(path, 'base64')}` : `other ${mode}`;
}

/** A command that sleeps for hours and that nobody else on this machine runs; `index` tells those of one file apart. */
export function longSleep(index: number): string {
  return `sleep ${String(100_000 + process.pid)}.${String(index)}`;
}

/** The processes that have this text in their command line, whoever on this machine has started them. */
export function running(text: string): number[] {
  return listProcesses().flatMap(({ pid, commandLine }) => (commandLine.includes(text) ? [pid] : []));
}
