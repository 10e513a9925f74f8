import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs of a PostgreSQL server. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** The programs, or what is missing, in one clause. */
export type FoundPostgres =
  | { readonly kind: 'found'; readonly programs: PostgresPrograms }
  | { readonly kind: 'missing'; readonly missing: string };

// Where Debian keeps the programs of a server, one folder for each major version.
const VERSIONS = '/usr/lib/postgresql';

/** Looks for `initdb` and `postgres` in a search path, then where Debian keeps them, the newest version first. */
export function findPostgres(searchPath: string, versions = VERSIONS): FoundPostgres {
  const folders = [...searchPath.split(delimiter).filter((folder) => folder !== ''), ...versionsIn(versions)];
  for (const folder of folders) {
    const programs = { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
    if (isProgram(programs.initdb) && isProgram(programs.postgres)) return { kind: 'found', programs };
  }
  return {
    kind: 'missing',
    missing: `there is no initdb and postgres in PATH or ${join(versions, '*', 'bin')}`,
  };
}

function versionsIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .toSorted((one, other) => Number(other) - Number(one))
      .map((version) => join(folder, version, 'bin'));
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
