import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SecretStore } from './secret-store.ts';

/** Others than its owner could reach a secret: the folder or a file of the store is not private, or not what it should be. */
export class SecretStoreUnsafeError extends Error {
  override readonly name = 'SecretStoreUnsafeError';
  readonly code = 'secret_store_unsafe';
  readonly path: string;

  constructor(facts: { path: string; why: string }) {
    super(`${facts.path} ${facts.why}; secrets are neither read from nor written there.`);
    this.path = facts.path;
  }
}

/** A secret is not there, or its file does not hold one. */
export class SecretUnavailableError extends Error {
  override readonly name = 'SecretUnavailableError';
  readonly code = 'secret_unavailable';
  readonly reference: string;

  constructor(facts: { reference: string; why: string; cause?: unknown }) {
    super(`The secret ${facts.reference} ${facts.why}.`, { cause: facts.cause });
    this.reference = facts.reference;
  }
}

const REFERENCE = /^[0-9a-f]{32}$/;
const UNFINISHED = /^[0-9a-f]{32}\.new$/;
const VERSION = 1;
const MAX_FILE_BYTES = 64 * 1024;
const OTHERS = 0o077;

/**
 * Secrets in a folder of their own, one file each, for their owner's eyes only (0700 and 0600). Folders and files that others
 * can reach, and symbolic links, are refused with {@link SecretStoreUnsafeError}. A secret is there whole or not at all. For one
 * process at a time: the first write removes what a process left that died while it wrote.
 */
export function createFileSecretStore(folder: string): SecretStore {
  const fileOf = (reference: string): string => {
    if (!REFERENCE.test(reference)) {
      throw new SecretUnavailableError({ reference, why: 'has a reference that this store never gave' });
    }
    return join(folder, reference);
  };

  let tidied: Promise<void> | undefined;

  return {
    async write(secret) {
      await makeFolder(folder);
      await assertPrivateFolder(folder);
      tidied ??= removeUnfinished(folder).catch((error: unknown) => {
        tidied = undefined;
        throw error;
      });
      await tidied;
      const reference = randomBytes(16).toString('hex');
      const file = fileOf(reference);
      const temporary = `${file}.new`;
      try {
        await writeDurably(temporary, JSON.stringify({ version: VERSION, secret }));
        await rename(temporary, file);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      await syncFolder(folder);
      return reference;
    },

    async read(reference) {
      const file = fileOf(reference);
      const text = await readPrivateFile(folder, file, reference);
      return secretIn(text, reference);
    },

    async remove(reference) {
      await rm(fileOf(reference), { force: true });
    },
  };
}

async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  // A folder that was just made is durable when its parent is.
  if (first !== undefined) await syncFolder(dirname(path));
}

async function removeUnfinished(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isFile() && UNFINISHED.test(entry.name)) await rm(join(folder, entry.name), { force: true });
  }
}

async function assertPrivateFolder(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new SecretStoreUnsafeError({ path, why: 'is not a folder' });
  assertPrivate(path, found);
}

function assertPrivate(path: string, found: { readonly mode: number; readonly uid: number }): void {
  if ((found.mode & OTHERS) !== 0) {
    throw new SecretStoreUnsafeError({
      path,
      why: `can be reached by others (mode ${(found.mode & 0o777).toString(8).padStart(4, '0')})`,
    });
  }
  if (process.getuid !== undefined && found.uid !== process.getuid()) {
    throw new SecretStoreUnsafeError({ path, why: 'belongs to another user' });
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readPrivateFile(folder: string, path: string, reference: string): Promise<string> {
  try {
    await assertPrivateFolder(folder);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new SecretStoreUnsafeError({ path, why: 'is not a file' });
      assertPrivate(path, found);
      if (found.size > MAX_FILE_BYTES) {
        throw new SecretUnavailableError({ reference, why: 'is in a file that is too long' });
      }
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (hasCode(error, 'ELOOP')) throw new SecretStoreUnsafeError({ path, why: 'is a symbolic link' });
    if (hasCode(error, 'ENOENT')) {
      throw new SecretUnavailableError({ reference, why: 'is not there', cause: error });
    }
    throw error;
  }
}

/** Whatever is in the file was not necessarily written by us, nor by this version. */
function secretIn(text: string, reference: string): string {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, so it is not passed on.
    throw new SecretUnavailableError({ reference, why: 'is in a file that is not JSON' });
  }
  if (typeof content !== 'object' || content === null || !('version' in content) || !('secret' in content)) {
    throw new SecretUnavailableError({ reference, why: 'is in a file without version and secret' });
  }
  if (content.version !== VERSION || typeof content.secret !== 'string' || content.secret === '') {
    throw new SecretUnavailableError({
      reference,
      why: `is in a file that this version (${String(VERSION)}) cannot read`,
    });
  }
  return content.secret;
}

function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
