import type * as NodeSqlite from 'node:sqlite';

/** This Node has no `node:sqlite`: it was built without it, or started with `--no-experimental-sqlite`. */
export class NodeSqliteMissingError extends Error {
  override readonly name = 'NodeSqliteMissingError';
  readonly code = 'node_sqlite_missing';
  readonly nodeVersion: string;

  constructor(facts: { nodeVersion: string }) {
    super(
      `Node ${facts.nodeVersion} was started without its SQLite module (node:sqlite), which the ledger is stored with; ` +
        'use a Node of version 22.18 or later that was built with it, and do not turn it off.',
    );
    this.nodeVersion = facts.nodeVersion;
  }
}

/**
 * Loads `node:sqlite` without the ExperimentalWarning that some versions of Node print for it. Every other warning, and
 * this one when somebody else causes it, is left alone. Throws {@link NodeSqliteMissingError}.
 */
export function loadNodeSqlite(): typeof NodeSqlite {
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was, and called on its process
  const original = process.emitWarning;
  // Loading is synchronous, so nobody else's warning can fall into this.
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!isSqliteExperimental(warning, rest[0])) Reflect.apply(original, process, [warning, ...rest]);
  };
  let loaded: typeof NodeSqlite | undefined;
  try {
    // Not an import: bundlers rewrite those, and they would print the warning.
    loaded = process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = original;
  }
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- declared as always there, but it can be turned off
  if (loaded === undefined) throw new NodeSqliteMissingError({ nodeVersion: process.version });
  return loaded;
}

function isSqliteExperimental(warning: string | Error, typeOrOptions: unknown): boolean {
  const type =
    typeof typeOrOptions === 'object' && typeOrOptions !== null && 'type' in typeOrOptions
      ? typeOrOptions.type
      : typeOrOptions;
  return type === 'ExperimentalWarning' && String(warning).startsWith('SQLite is an experimental');
}
