import { isAbsolute } from 'node:path';

const ACCEPTED = 'an absolute file path, "sqlite:" and an absolute file path, or ":memory:"';

/** The address of a ledger is not one that this package can open. */
export class LedgerUrlError extends Error {
  override readonly name = 'LedgerUrlError';
  readonly code = 'ledger_url';

  constructor(found: string) {
    // The address itself is not repeated: that of a database server may hold a password.
    super(`The ledger's url ${found}; accepted are: ${ACCEPTED}.`);
  }
}

/** The database file that a ledger's url names; `:memory:` is one that lives as long as its ledger. */
export function ledgerPath(url: string): string {
  const scheme = /^([a-z][a-z+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  const path = scheme === 'sqlite' ? url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') : url;
  if (path === ':memory:') return path;
  if (path.includes('\0')) throw new LedgerUrlError('holds a NUL character');
  if (isAbsolute(path)) return path;
  if (scheme === 'sqlite') throw new LedgerUrlError('names a relative path');
  if (scheme !== undefined) throw new LedgerUrlError(`has the scheme "${scheme}:"`);
  throw new LedgerUrlError('is a relative path');
}
