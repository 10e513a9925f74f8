import { listDirectory, type DirectoryListing } from './list-directory.ts';
import { openForReading, readSlice, type FileSlice } from './read-file.ts';
import { FileAccessError } from './file-access-error.ts';
import { readLineRange, type LineRange } from './text-lines.ts';
import type { SourceRoots } from './source-roots.ts';
import { writeTextFile } from './write-text-file.ts';

/** The largest text that is given in one piece, in bytes. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

/**
 * The files of one instance, for its backend and for its agent: only inside the source roots as they are at that moment, whatever
 * `..`, symbolic links or races say (SURVIVAL-002.5). All of it rejects with `FileAccessError`.
 */
export class Workspace {
  readonly #where: () => SourceRoots;

  constructor(where: () => SourceRoots) {
    this.#where = where;
  }

  async list(path: string): Promise<DirectoryListing> {
    return await listDirectory(this.#where(), path);
  }

  async read(path: string, slice: FileSlice): Promise<Buffer> {
    return await readSlice(this.#where(), path, slice);
  }

  /** A text, or some of its lines. */
  async readText(path: string, lines: LineRange): Promise<string> {
    await using handle = await openForReading(this.#where(), path);
    const chunks: AsyncIterable<Buffer> = handle.createReadStream({ autoClose: false });
    const bytes = await readLineRange(chunks, lines, MAX_TEXT_BYTES);
    if (bytes !== null) return bytes.toString('utf8');
    throw new FileAccessError({
      code: 'too_large',
      path,
      why: `more than ${String(MAX_TEXT_BYTES)} bytes; ask for fewer lines`,
    });
  }

  async writeText(path: string, text: string): Promise<void> {
    await writeTextFile(this.#where(), path, text);
  }
}
