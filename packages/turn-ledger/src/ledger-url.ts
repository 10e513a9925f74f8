import { isAbsolute } from 'node:path';
import { isPostgresUrl } from './database/postgres/postgres-url.ts';

const ACCEPTED =
  'an absolute file path, "sqlite:" and an absolute file path, ":memory:", or "postgres://" with a host and a database';

/** The address of a ledger is not one that this package can open. */
export class LedgerUrlError extends Error {
  override readonly name = 'LedgerUrlError';
  readonly code = 'ledger_url';

  constructor(found: string) {
    // The address itself is not repeated: that of a database server may hold a password.
    super(`The ledger's url ${found}; accepted are: ${ACCEPTED}.`);
  }
}

/** Where a ledger's url points. */
export type LedgerLocation =
  /** `:memory:` is a database that lives as long as its ledger. */
  { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string };

/** What a ledger's url names, or {@link LedgerUrlError}. */
export function ledgerLocation(url: string): LedgerLocation {
  const scheme = /^([a-z][a-z+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'postgres' || scheme === 'postgresql') {
    if (isPostgresUrl(url)) return { kind: 'postgres', url };
    throw new LedgerUrlError(`has the scheme "${scheme}:", but is no URL of a database`);
  }
  const path = scheme === 'sqlite' ? url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '') : url;
  if (path === ':memory:') return { kind: 'sqlite', path };
  if (path.includes('\0')) throw new LedgerUrlError('holds a NUL character');
  if (isAbsolute(path)) return { kind: 'sqlite', path };
  if (scheme === 'sqlite') throw new LedgerUrlError('names a relative path');
  if (scheme !== undefined) throw new LedgerUrlError(`has the scheme "${scheme}:"`);
  throw new LedgerUrlError('is a relative path');
}
