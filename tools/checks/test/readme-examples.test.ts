import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { checkReadmeExamples } from '../src/readme-examples.ts';

const root = resolve(import.meta.dirname, '../../..');

it('compiles every example of every README', () => {
  const readmes = globSync(['README.md', '{packages,tools,examples}/**/README.md'], {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  }).map((readme) => join(root, readme));
  expect(readmes).toContain(join(root, 'README.md'));
  expect(checkReadmeExamples(root, readmes)).toEqual([]);
});

it('says where an example does not compile', async () => {
  const folder = await mkdtemp(join(root, 'tools/checks/coverage-readme-'));
  try {
    const readme = join(folder, 'README.md');
    await writeFile(
      readme,
      ['# x', '', '```ts', 'const a: string = "";', 'const b: number = a;', '```', ''].join('\n'),
    );
    const [problem] = checkReadmeExamples(root, [readme]);
    expect(problem).toContain("README.md:5: Type 'string' is not assignable to type 'number'");
  } finally {
    await rm(folder, { recursive: true });
  }
});
