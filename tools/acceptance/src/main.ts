/** `npm run acceptance [-- --update] [-- --root <checkout>]`: see the README. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { parseAcceptanceList } from './acceptance-list.ts';
import { formatMatrix } from './format-matrix.ts';
import { judge } from './judge.ts';
import { parseTestTitles } from './test-titles.ts';

const { values } = parseArgs({
  options: {
    update: { type: 'boolean', default: false },
    root: { type: 'string', default: join(import.meta.dirname, '../../..') },
  },
});
const listPath = join(values.root, 'docs/acceptance.md');
const recordPath = join(values.root, 'docs/acceptance-shown.txt');

const list = parseAcceptanceList(readFileSync(listPath, 'utf8'));
const testFiles = globSync('{packages,tools,examples}/**/test/**/*.test.ts', {
  cwd: values.root,
  exclude: ['**/node_modules', '**/dist'],
}).toSorted();
const titlesByFile = new Map(
  testFiles.map((file) => [file, parseTestTitles(readFileSync(join(values.root, file), 'utf8'), file)]),
);
const record = existsSync(recordPath) ? readFileSync(recordPath, 'utf8') : '';
const verdict = judge({ list, titlesByFile, record });

process.stdout.write(formatMatrix(list.sections, verdict.testsById));

const say = (title: string, sentences: readonly string[]): void => {
  if (sentences.length > 0)
    process.stderr.write(`\n${title}\n${sentences.map((text) => `  ${text}\n`).join('')}`);
};
say('Mend these first:', verdict.mistakes);
if (values.update && verdict.mistakes.length === 0) {
  writeFileSync(recordPath, verdict.record);
  say('docs/acceptance-shown.txt is rewritten; until now:', verdict.differences);
} else {
  say(
    'docs/acceptance-shown.txt differs from what is shown; where that is meant, run `npm run acceptance -- --update`:',
    verdict.differences,
  );
  if (verdict.mistakes.length + verdict.differences.length > 0) process.exitCode = 1;
}
