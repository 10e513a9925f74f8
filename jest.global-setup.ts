import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** What every run of tests starts with, before there is a worker. */
export default function prepareRun({ outputFile }: { readonly outputFile?: string }): void {
  // jest does not make the folder of `--outputFile` by itself: every test script writes coverage/results.json.
  if (outputFile !== undefined) mkdirSync(dirname(outputFile), { recursive: true });
  // Node reads these certificates beside everything else, and a program that exits meanwhile may still say on stderr that they
  // are broken. Tests compare what programs wrote, and their programs talk to nobody but this machine.
  delete process.env['NODE_EXTRA_CA_CERTS'];
}
