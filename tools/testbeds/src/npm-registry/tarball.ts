import { gzipSync } from 'node:zlib';

/** A file of an archive. Its path is relative, with forward slashes, and at most 100 bytes long. */
export interface ArchiveFile {
  readonly path: string;
  readonly text: string;
  readonly executable: boolean;
}

const BLOCK_BYTES = 512;

/** A gzipped tar archive (ustar) of these files. The same files always give the same bytes. */
export function tarball(files: readonly ArchiveFile[]): Buffer {
  const blocks = files.flatMap((file) => {
    const body = Buffer.from(file.text);
    const padding = Buffer.alloc((BLOCK_BYTES - (body.length % BLOCK_BYTES)) % BLOCK_BYTES);
    return [header(file, body.length), body, padding];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]));
}

function header({ path, executable }: ArchiveFile, bytes: number): Buffer {
  if (Buffer.byteLength(path) > 100) throw new TypeError(`The path ${path} is too long for this archive.`);
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, offset: number, width: number): void => {
    block.write(value.toString(8).padStart(width - 1, '0'), offset);
  };
  block.write(path, 0);
  octal(executable ? 0o755 : 0o644, 100, 8);
  octal(0, 108, 8); // owner
  octal(0, 116, 8); // group
  octal(bytes, 124, 12);
  octal(0, 136, 12); // time of change
  block.fill(' ', 148, 156); // the checksum counts as blanks in itself
  block.write('0', 156); // a regular file
  block.write('ustar', 257);
  block.write('00', 263); // the format's version
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${checksum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
