import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes the folder of `--outputFile`, which jest does not do by itself: every test script writes coverage/results.json.
 *
 * @param {{ outputFile?: string }} globalConfig
 */
export default function makeResultsFolder({ outputFile }) {
  if (outputFile !== undefined) mkdirSync(dirname(outputFile), { recursive: true });
}
