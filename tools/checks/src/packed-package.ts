import { entriesOf } from './exports.ts';
import type { Manifest } from './workspace.ts';

/** What only we need: nobody who installs a package runs its tests. */
const NOT_FOR_USERS =
  /(?:^|\/)(?:tests?|coverage|fixtures)\/|\.test\.[cm]?[jt]s$|\.tsbuildinfo$|(?:^|\/)(?:jest|tsup)\.config\./;

/** What a package says about itself; the rest of its "files" are folders. */
const DOCUMENTS: ReadonlySet<string> = new Set(['README.md', 'LICENSE', 'CHANGELOG.md']);

/**
 * What is wrong with a packed package.
 *
 * @param manifest the package.json in it.
 * @param files every file in it, from its folder, such as `dist/index.js`.
 * @param hasChangelog whether the package's folder has a CHANGELOG.md.
 */
export function judgePackedPackage(
  manifest: Manifest,
  files: readonly string[],
  hasChangelog: boolean,
): string[] {
  const packed = new Set(files);
  const lacks = (file: string, why: string): string[] =>
    packed.has(file) ? [] : [`${manifest.name}: the tarball lacks ${file}, ${why}.`];

  return [
    ...lacks('README.md', 'the page that the registry shows'),
    ...lacks('LICENSE', 'which its users must get'),
    ...(hasChangelog ? lacks('CHANGELOG.md', 'which the package has') : []),
    ...entriesOf(manifest).flatMap(({ specifier, targets }) =>
      targets.flatMap(([condition, file]) => lacks(withoutDot(file), `the "${condition}" of ${specifier}`)),
    ),
    ...Object.entries(manifest.bin).flatMap(([command, file]) =>
      lacks(withoutDot(file), `the command ${command}`),
    ),
    ...manifest.files
      .filter((entry) => !DOCUMENTS.has(entry) && !files.some((file) => file.startsWith(`${entry}/`)))
      .map((entry) => `${manifest.name}: "files" names ${entry}, and nothing of it is packed.`),
    ...files
      .filter((file) => NOT_FOR_USERS.test(file))
      .map((file) => `${manifest.name}: the tarball holds ${file}, which is only for us.`),
  ];
}

function withoutDot(file: string): string {
  return file.replace(/^\.\//, '');
}
