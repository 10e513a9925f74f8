/** Where credentials are kept. Records hold a reference to them only. */
export interface SecretStore {
  /** Keeps a secret and gives its reference, never given before; resolves once the secret is durable. */
  write(secret: string): Promise<string>;
  /** The secret; rejects when it cannot be had, whatever the cause. */
  read(reference: string): Promise<string>;
  /** Forgets a secret. One that is gone already is fine. */
  remove(reference: string): Promise<void>;
}
