import { randomBytes } from 'node:crypto';

/** So many bytes that nobody can foresee. */
export type Random = (byteCount: number) => Uint8Array;

/** The machine's own source. */
export const systemRandom: Random = (byteCount) => randomBytes(byteCount);
