import { readFile, readdir } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import type { NpmPackage } from '@holdfast/testbeds';

/** The package that most tests run. */
export const AGENT = '@acme/agent';

/** The variable that names the file to which an agent from a package adds a line about each of its starts. */
export const TRACE_VARIABLE = 'ACME_AGENT_TRACE';

/** What an agent from a package tells of a start. */
export interface TracedStart {
  readonly version: string;
  readonly args: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The scripted agent as a package: whole, so that it runs wherever npm takes it. */
export async function agentPackage(version: string, more: Partial<NpmPackage> = {}): Promise<NpmPackage> {
  return {
    name: AGENT,
    version,
    bin: { agent: 'main.mjs' },
    files: { 'main.mjs': program(version), ...(await agentFiles()) },
    ...more,
  };
}

function program(version: string): string {
  return `#!/usr/bin/env node
import { appendFileSync } from 'node:fs';
const start = { version: '${version}', args: process.argv.slice(2), workingDirectory: process.cwd(), environment: process.env };
appendFileSync(process.env.${TRACE_VARIABLE}, JSON.stringify(start) + '\\n');
await import('./agent/agent.mjs');
`;
}

/** Node takes the types off what it runs, but not off what is in a node_modules. */
async function agentFiles(): Promise<Record<string, string>> {
  const folder = dirname(scriptedAgentCommand()[1] ?? '');
  const files: Record<string, string> = {};
  const sources = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
  for (const name of sources) {
    const source = stripTypeScriptTypes(await readFile(join(folder, name), 'utf8'));
    files[`agent/${basename(name, '.ts')}.mjs`] = source.replaceAll(/(from '\.\/[^']+)\.ts'/g, "$1.mjs'");
  }
  return files;
}
