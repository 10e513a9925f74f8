import { publishPackage, type NpmPackage, type PublishedPackage } from './npm-package.ts';

/** The packages of a registry: for each name its versions in the order in which they were published. */
export class Shelf {
  readonly #packages = new Map<string, Map<string, PublishedPackage>>();

  add(version: NpmPackage): void {
    const versions = this.#packages.get(version.name) ?? new Map<string, PublishedPackage>();
    versions.set(version.version, publishPackage(version));
    this.#packages.set(version.name, versions);
  }

  /** The bytes of an archive, e.g. `agent-1.0.0.tgz` of `@acme/agent`. */
  archive(name: string, file: string): Buffer | undefined {
    for (const [version, { archive }] of this.#packages.get(name) ?? []) {
      if (file === archiveName(name, version)) return archive;
    }
    return undefined;
  }

  /** What the registry at that address tells of a package. The short form, which npm prefers, lacks the times. */
  document(name: string, endpoint: string, short: boolean): object | undefined {
    const versions = this.#packages.get(name);
    if (versions === undefined) return undefined;
    const times = Object.fromEntries(
      [...versions].map(([version, { publishedAt }]) => [version, publishedAt.toISOString()]),
    );
    return {
      name,
      'dist-tags': { latest: [...versions.keys()].at(-1) },
      versions: Object.fromEntries(
        [...versions].map(([version, { manifest, integrity }]) => [
          version,
          {
            ...manifest,
            dist: { tarball: `${endpoint}/${name}/-/${archiveName(name, version)}`, integrity },
          },
        ]),
      ),
      ...(short ? {} : { time: times }),
    };
  }
}

function archiveName(name: string, version: string): string {
  return `${name.slice(name.indexOf('/') + 1)}-${version}.tgz`;
}
