import { readFileSync, readSync } from 'node:fs';
import { z } from 'zod';
import { systemCode } from '../ports/system-error.ts';
import { ArgumentError, type CommandArguments } from './arguments.ts';

const Bootstrap = z.object({ nonce: z.string().min(1).max(512) });
const LONGEST_LINE = 4096;
const RETRY_MS = 10;

/** Reads the bootstrap nonce; throws `ArgumentError`, which never holds what was read. */
export function readNonce(source: CommandArguments['bootstrap']): string {
  const line = source.kind === 'stdin' ? readLine(0) : readFirstLine(source.path);
  const parsed = Bootstrap.safeParse(parseJson(line));
  if (parsed.success) return parsed.data.nonce;
  const where = source.kind === 'stdin' ? 'stdin' : source.path;
  throw new ArgumentError(`The first line of ${where} must be {"nonce": "..."}; it is not.`);
}

/** Reads one line and not a byte more. In place of `process.stdin`, which would hold on to the descriptor. */
function readLine(fd: number): string {
  const byte = Buffer.alloc(1);
  const bytes: number[] = [];
  while (bytes.length < LONGEST_LINE) {
    const count = readOne(fd, byte);
    if (count === 0 || byte[0] === 0x0a) break;
    bytes.push(byte[0] ?? 0);
  }
  return Buffer.from(bytes).toString('utf8');
}

function readOne(fd: number, byte: Buffer): number {
  for (;;) {
    try {
      return readSync(fd, byte);
    } catch (error) {
      if (systemCode(error) !== 'EAGAIN') return 0;
      // A descriptor that does not block: look again shortly.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function readFirstLine(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n')[0] ?? '';
  } catch (error) {
    throw new ArgumentError(`The bootstrap file ${path} cannot be read: ${systemCode(error) ?? 'unknown'}.`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
