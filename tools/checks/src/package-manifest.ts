import { entriesOf } from './exports.ts';
import type { Manifest, Workspace } from './workspace.ts';

/** What stands beside the manifests, as the rules need it. */
export interface Surroundings {
  readonly root: Manifest;
  readonly workspaces: readonly Workspace[];
  /** Whether a file exists, named from the root of the checkout. */
  readonly exists: (path: string) => boolean;
  /** Whether a file has the same bytes as the LICENSE of the root, named in the same way. */
  readonly isOurLicense: (path: string) => boolean;
}

const FILES = ['dist', 'src', 'README.md', 'CHANGELOG.md', 'LICENSE'];
const CONDITIONS = '@holdfast/source, types, default';

/** What is wrong with the package.json of a public package, and with the files a reader expects beside it. */
export function judgePackage({ folder, manifest }: Workspace, surroundings: Surroundings): string[] {
  const { root, exists, isOurLicense } = surroundings;
  const problems: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) problems.push(`${folder}: ${what}`);
  };

  must(
    manifest.name.startsWith('@holdfast/'),
    `its name must begin with @holdfast/, not "${manifest.name}".`,
  );
  must(manifest.description !== '', 'package.json needs a description, one sentence of what it is for.');
  must(manifest.license === root.license, `package.json needs "license": "${root.license}".`);
  must(manifest.type === 'module', 'package.json needs "type": "module".');
  must(
    manifest.publishConfig['access'] === 'public',
    'package.json needs "publishConfig": { "access": "public" }.',
  );
  must(
    manifest.engines['node'] === root.engines['node'],
    `package.json needs "engines": { "node": "${root.engines['node'] ?? ''}" }, as the root has it.`,
  );
  must(
    [...manifest.files].toSorted().join() === FILES.toSorted().join(),
    `"files" must be ${FILES.join(', ')}, and is ${manifest.files.join(', ')}.`,
  );
  must(exists(`${folder}/README.md`), 'needs a README.md.');
  must(
    isOurLicense(`${folder}/LICENSE`),
    'needs a LICENSE, a copy of the one in the root: npm packs no other.',
  );

  const entries = entriesOf(manifest);
  must(
    entries.some((entry) => entry.specifier === manifest.name),
    '"exports" must declare ".".',
  );
  for (const { specifier, targets } of entries) {
    if (specifier === `${manifest.name}/package.json`) continue;
    const conditions = targets.map(([condition]) => condition).join(', ');
    must(
      conditions === CONDITIONS,
      `the conditions of ${specifier} must be ${CONDITIONS}, not ${conditions}.`,
    );
    const source = targets.find(([condition]) => condition === '@holdfast/source')?.[1];
    must(
      source === undefined || exists(`${folder}/${source}`),
      `${specifier} names ${String(source)}: no such file.`,
    );
  }

  return [...problems, ...judgeSiblings(folder, manifest, surroundings.workspaces)];
}

/** A private sibling is on no registry, and `*` would let a user's install mix any two versions. */
function judgeSiblings(folder: string, manifest: Manifest, workspaces: readonly Workspace[]): string[] {
  const shipped = {
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  };
  return workspaces.flatMap(({ manifest: sibling }) => {
    const range = shipped[sibling.name];
    if (range === undefined) return [];
    if (sibling.private) return [`${folder}: depends on ${sibling.name}, which is never published.`];
    return range === `^${sibling.version}`
      ? []
      : [`${folder}: must depend on ${sibling.name} as "^${sibling.version}", not "${range}".`];
  });
}
