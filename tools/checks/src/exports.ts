import { isRecord } from './is-record.ts';
import type { Manifest } from './workspace.ts';

/** One declared way into a package. */
export interface PackageEntry {
  /** How it is imported: `@holdfast/control-protocol/client`. */
  readonly specifier: string;
  /** The conditions with their files from the package's folder, in the order written; a plain string is `default`. */
  readonly targets: readonly (readonly [condition: string, file: string])[];
}

/** The entries that `exports` declares. Nested conditions and patterns have no targets: they are not used here. */
export function entriesOf({ name, exports }: Manifest): PackageEntry[] {
  return Object.entries(exports).map(([subpath, value]) => ({
    specifier: name + subpath.slice(1),
    targets: targetsOf(value),
  }));
}

function targetsOf(value: unknown): [string, string][] {
  if (typeof value === 'string') return value.includes('*') ? [] : [['default', value]];
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([condition, file]): [string, string][] =>
    typeof file === 'string' && !file.includes('*') ? [[condition, file]] : [],
  );
}
