import { createHash } from 'node:crypto';
import { tarball, type ArchiveFile } from './tarball.ts';

/** One version of a package, as its author would publish it. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** The text of each file, by its path in the package. */
  readonly files: Readonly<Record<string, string>>;
  /** The package's programs: for each name the path of a file. */
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  /** The registry says that it has had this version since then; a day long ago unless told. */
  readonly publishedAt?: Date;
  /** What becomes of the archive on its way: its bytes are not those of its checksum, or it ends in the middle. */
  readonly archive?: 'whole' | 'tampered' | 'cut';
}

/** A version as a registry keeps it. */
export interface PublishedPackage {
  readonly publishedAt: Date;
  readonly manifest: Readonly<Record<string, unknown>>;
  /** The checksum of the archive as it was published. */
  readonly integrity: string;
  /** What a client is sent. */
  readonly archive: Buffer;
}

const LONG_AGO = new Date('2026-01-01T00:00:00Z');

/** Packs a version. */
export function publishPackage(given: NpmPackage): PublishedPackage {
  const { files, publishedAt = LONG_AGO, archive = 'whole', ...manifest } = given;
  const programs = new Set(Object.values(manifest.bin ?? {}));
  const contents: ArchiveFile[] = [
    { path: 'package/package.json', text: JSON.stringify(manifest), executable: false },
    ...Object.entries(files).map(([path, text]) => ({
      path: `package/${path}`,
      text,
      executable: programs.has(path),
    })),
  ];
  const whole = tarball(contents);
  return {
    publishedAt,
    manifest,
    integrity: `sha512-${createHash('sha512').update(whole).digest('base64')}`,
    archive: SENT[archive](whole, contents),
  };
}

const SENT: {
  readonly [What in NonNullable<NpmPackage['archive']>]: (
    whole: Buffer,
    contents: readonly ArchiveFile[],
  ) => Buffer;
} = {
  whole: (whole) => whole,
  tampered: (_, contents) =>
    tarball([...contents, { path: 'package/added.js', text: '// not the author’s', executable: false }]),
  cut: (whole) => whole.subarray(0, whole.length / 2),
};
