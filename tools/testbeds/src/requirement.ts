import { findPostgres } from './postgres-programs.ts';

/** What a suite may need of the machine. */
export type RequirementName = 'postgres';

/** What is missing on this machine, in one clause, or `undefined` when it is all there. */
const MISSING: { readonly [Name in RequirementName]: () => string | undefined } = {
  postgres: () => {
    const found = findPostgres(process.env['PATH'] ?? '');
    return found.kind === 'found' ? undefined : found.missing;
  },
};

/** Where the answer comes from; this process unless told. */
export interface RequirementSources {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly missing?: () => string | undefined;
  /** Takes the line that says why a suite is skipped. */
  readonly tell?: (line: string) => void;
}

/**
 * Whether a suite that needs this is to run: `requirement('postgres') ? describe : describe.skip`. What is missing is told in
 * one line. A name in `HOLDFAST_REQUIRE` (a comma list) must be there: its suites run, and fail where it is not.
 */
export function requirement(name: RequirementName, sources: RequirementSources = {}): boolean {
  const { environment = process.env, missing = MISSING[name], tell = toStderr } = sources;
  const what = missing();
  if (what === undefined || requiredNames(environment['HOLDFAST_REQUIRE'] ?? '').includes(name)) return true;
  tell(`Suites that need ${name} are skipped: ${what}. With HOLDFAST_REQUIRE=${name} they would fail.`);
  return false;
}

function requiredNames(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim());
}

/** Jest's own console would add a stack to the line. */
function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
