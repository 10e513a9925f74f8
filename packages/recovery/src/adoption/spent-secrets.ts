import type { ControlServerRecord } from '@holdfast/executor-contract';

/**
 * The secrets that nobody will need again, as far as this backend has seen: those of servers that are gone for certain, and those
 * that a failed adoption left beside the one that its record turned out to name. Any other secret stays, also one that no record
 * names: it may be that of a server that was refused and lives on.
 */
export class SpentSecrets {
  readonly #gone = new Set<string>();
  /** By server: references of which the record names one, at most. */
  readonly #doubtful = new Map<string, Set<string>>();

  /** The server has ended, or has proven itself and says that it is about to. */
  serverIsGone(serverId: string): void {
    this.#gone.add(serverId);
  }

  /** An adoption failed when the new secret was there already: which of the two the record names is not certain. */
  adoptionFailed(serverId: string, references: readonly string[]): void {
    this.#doubtful.set(serverId, new Set([...(this.#doubtful.get(serverId) ?? []), ...references]));
  }

  /** The server has accepted the credential that its record names: what failed adoptions left beside it is given, once. */
  takeLeftOvers({ serverId, credentialRef }: ControlServerRecord): readonly string[] {
    const references = this.#doubtful.get(serverId) ?? new Set();
    this.#doubtful.delete(serverId);
    references.delete(credentialRef);
    return [...references];
  }

  /** The record has been replaced by that of another server: the secrets of the old one are given, once, if it is gone. */
  takeReplaced(replaced: ControlServerRecord): readonly string[] {
    if (!this.#gone.delete(replaced.serverId)) return [];
    return [...this.takeLeftOvers(replaced), replaced.credentialRef];
  }
}
