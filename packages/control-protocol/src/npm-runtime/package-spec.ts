import { z } from 'zod';

/** One exact package, e.g. `@acme/agent@1.2.3`, taken apart. */
export interface ExactPackage {
  readonly name: string;
  readonly version: string;
}

/** What of a package spec is accepted, in the words of error messages. */
export const PACKAGE_SPEC_EXPECTED =
  'must be <package>@<exact version>, e.g. agent@1.2.3 or @acme/agent@1.2.3: no range, tag, alias, URL or path';

const LONGEST_NAME = 214;
const LONGEST_VERSION = 64;
// npm's rules for the name of a new package, less what a command line or a file system could take for something else.
const NAME = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/;
// A version as a registry holds it: numbers that npm can still compare, and no build metadata, which no registry keeps.
const NUMBER = '(?:0|[1-9][0-9]{0,14})';
const PRERELEASE_PART = '(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)';
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRERELEASE_PART}(?:\\.${PRERELEASE_PART})*)?$`,
);
// npm reads these as the name of an archive on disk, on either side of the @.
const ARCHIVE = /\.(?:tgz|tar|tar\.gz)$/i;
const NOT_NAMES = new Set(['node_modules', 'favicon.ico']);

/** Takes an exact package spec apart; undefined for whatever npm could understand as anything else. */
export function parsePackageSpec(spec: string): ExactPackage | undefined {
  const mark = spec.lastIndexOf('@');
  const name = spec.slice(0, Math.max(mark, 0));
  const version = spec.slice(mark + 1);
  return isPackageName(name) && isExactVersion(version) ? { name, version } : undefined;
}

function isPackageName(name: string): boolean {
  if (name.length > LONGEST_NAME || !NAME.test(name) || name.includes('..')) return false;
  return !ARCHIVE.test(name) && !NOT_NAMES.has(name);
}

function isExactVersion(version: string): boolean {
  return version.length <= LONGEST_VERSION && VERSION.test(version) && !ARCHIVE.test(version);
}

/** An exact package spec: `<package>@<exact version>`. */
export const PackageSpec = z
  .string()
  .refine((spec) => parsePackageSpec(spec) !== undefined, PACKAGE_SPEC_EXPECTED);
export type PackageSpec = z.infer<typeof PackageSpec>;
