import { closeSync, openSync, writeSync } from 'node:fs';
import { systemCode } from '../ports/system-error.ts';

const RETRY_MS = 10;
const RETRIES = 100;

/** Writes to a descriptor, whole if it can; a reader that has gone is no error. */
export function writeTo(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text);
  for (let attempt = 0; rest.length > 0 && attempt < RETRIES; attempt += 1) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (systemCode(error) !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/**
 * Closes stdin, stdout and stderr for good, so that nothing that happens at the parent's end reaches this process. Their numbers
 * are taken by /dev/null, because whoever opens a file next would get them otherwise.
 */
export function letGoOfStandardStreams(): void {
  for (const fd of [0, 1, 2]) {
    closeSync(fd);
    // The system gives the lowest free number, which is this one.
    openSync('/dev/null', fd === 0 ? 'r' : 'w');
  }
}
