/** A source of unguessable bytes. */
export type RandomBytes = (size: number) => Uint8Array;

/** A fresh id of 128 random bits. Hex, so that it never starts with a dash and is safe as a command-line argument. */
export function randomId(random: RandomBytes): string {
  return Buffer.from(random(16)).toString('hex');
}

/** A fresh secret of 256 random bits in base64url: what a credential is. */
export function randomSecret(random: RandomBytes): string {
  return Buffer.from(random(32)).toString('base64url');
}
