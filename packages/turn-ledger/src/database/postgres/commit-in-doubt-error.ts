/** The connection broke while a transaction was being committed, and nobody could tell what became of it. */
export class CommitInDoubtError extends Error {
  override readonly name = 'CommitInDoubtError';

  constructor(cause: unknown) {
    super('The connection broke during COMMIT; the transaction may have been stored or not.', { cause });
  }
}
