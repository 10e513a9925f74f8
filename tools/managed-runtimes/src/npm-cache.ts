import { createHash } from 'node:crypto';
import type { AgentPlace } from './agent-place.ts';

/** The name under which npx keeps what it installed for one package, by npm's own rule. */
export function executionKey(packageSpec: string): string {
  return createHash('sha512').update(packageSpec).digest('hex').slice(0, 16);
}

const READ = `
const { createHash } = require('node:crypto');
const { lstatSync, readFileSync, readdirSync, readlinkSync } = require('node:fs');
const { join } = require('node:path');
const [root] = process.argv.slice(1);
const found = {};
const walk = (path) => {
  const place = join(root, path);
  const entry = lstatSync(place);
  if (entry.isDirectory()) for (const name of readdirSync(place)) walk(join(path, name));
  else found[path] = entry.isSymbolicLink() ? 'to ' + readlinkSync(place) : createHash('sha256').update(readFileSync(place)).digest('hex');
};
walk('');
console.log(JSON.stringify(found));
`;

/** Every file below a directory of the place with a checksum of its content, by its path from there. */
export async function filesBelow(place: AgentPlace, directory: string): Promise<Record<string, string>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the program above
  return JSON.parse(await runThere(place, READ, directory)) as Record<string, string>;
}

const WRITE = `
const { mkdirSync, writeFileSync } = require('node:fs');
const { dirname } = require('node:path');
const [path, text] = process.argv.slice(1);
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, text);
`;

/** Writes a file of the place, and the directories above it. */
export async function writeThere(place: AgentPlace, path: string, text: string): Promise<void> {
  await runThere(place, WRITE, path, text);
}

const REMOVE = `require('node:fs').rmSync(process.argv[1], { recursive: true });`;

/** Removes a file or directory of the place; it must be there. */
export async function removeThere(place: AgentPlace, path: string): Promise<void> {
  await runThere(place, REMOVE, path);
}

const COPY = `
const [from, to] = process.argv.slice(1);
require('node:fs').rmSync(to, { recursive: true, force: true });
require('node:fs').cpSync(from, to, { recursive: true });
`;

/** Puts a copy of one directory of the place in place of another. */
export async function copyThere(place: AgentPlace, from: string, to: string): Promise<void> {
  await runThere(place, COPY, from, to);
}

async function runThere(place: AgentPlace, program: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await place.run(['node', '-e', program, ...args], {});
  if (exitCode !== 0) throw new Error(`A program in the agents’ place failed:\n${stderr}`);
  return stdout;
}
