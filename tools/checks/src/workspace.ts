import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from './is-record.ts';

/** The fields of a package.json that the checks look at; absent ones are empty. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly private: boolean;
  readonly type: string;
  readonly files: readonly string[];
  readonly engines: Readonly<Record<string, string>>;
  readonly publishConfig: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  /** By the command's name: the file it runs, from the package's folder. */
  readonly bin: Readonly<Record<string, string>>;
  /** As written: conditions may nest. */
  readonly exports: Readonly<Record<string, unknown>>;
  readonly workspaces: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** One npm workspace of the checkout. */
export interface Workspace {
  /** From the root of the checkout, such as `packages/recovery`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Reads a package.json. Throws when it is no JSON object; fields of a wrong type read as absent. */
export function parseManifest(json: string): Manifest {
  const fields: unknown = JSON.parse(json);
  if (!isRecord(fields)) throw new TypeError('a package.json must be a JSON object');
  const name = textOf(fields['name']);
  const { bin } = fields;
  return {
    name,
    version: textOf(fields['version']),
    description: textOf(fields['description']),
    license: textOf(fields['license']),
    private: fields['private'] === true,
    type: textOf(fields['type']),
    files: textsOf(fields['files']),
    engines: textsByName(fields['engines']),
    publishConfig: textsByName(fields['publishConfig']),
    scripts: textsByName(fields['scripts']),
    // npm names a command that is given as a plain string after the package, without its scope.
    bin: typeof bin === 'string' ? { [name.slice(name.lastIndexOf('/') + 1)]: bin } : textsByName(bin),
    exports: isRecord(fields['exports']) ? fields['exports'] : {},
    workspaces: textsOf(fields['workspaces']),
    dependencies: textsByName(fields['dependencies']),
    optionalDependencies: textsByName(fields['optionalDependencies']),
    peerDependencies: textsByName(fields['peerDependencies']),
    devDependencies: textsByName(fields['devDependencies']),
  };
}

/** Reads the package.json of a folder. */
export function readManifest(folder: string): Manifest {
  return parseManifest(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Every workspace that the root package.json names, in the order of their folders. */
export function readWorkspaces(root: string): Workspace[] {
  const patterns = readManifest(root).workspaces.map((pattern) => `${pattern}/package.json`);
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules'] })
    .map((file) => file.slice(0, -'/package.json'.length))
    .toSorted()
    .map((folder) => ({ folder, manifest: readManifest(join(root, folder)) }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function textsByName(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])),
  );
}
