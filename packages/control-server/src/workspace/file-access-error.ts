import { systemCode } from '../ports/system-error.ts';

/** Why a file was not given: its path leads out of the roots, nothing is there, it is of another kind, it is too large. */
export type FileAccessProblem = 'outside_roots' | 'not_found' | 'wrong_kind' | 'too_large' | 'not_permitted';

/** A file request that cannot be carried out. The message names the path as it was asked for, and no other. */
export class FileAccessError extends Error {
  override readonly name = 'FileAccessError';
  readonly code: FileAccessProblem;
  readonly path: string;
  /** What is wrong with it, without the path. */
  readonly why: string;

  constructor(facts: { readonly code: FileAccessProblem; readonly path: string; readonly why: string }) {
    super(`${facts.path}: ${facts.why}`);
    this.code = facts.code;
    this.path = facts.path;
    this.why = facts.why;
  }
}

/** The error of a system call as an answer; one that says nothing about the file is passed on as it is. */
export function asFileAccessError(error: unknown, path: string): unknown {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return new FileAccessError({ code: 'not_found', path, why: 'nothing is there' });
    case 'ELOOP':
      return new FileAccessError({ code: 'not_found', path, why: 'its symbolic links lead nowhere' });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new FileAccessError({ code: 'not_permitted', path, why: 'the system does not permit it' });
    case 'EISDIR':
      return new FileAccessError({ code: 'wrong_kind', path, why: 'it is a directory' });
    case undefined:
    default:
      return error;
  }
}
