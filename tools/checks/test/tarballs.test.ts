import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import { consumerSource, importableSpecifiers, ourFindings } from '../src/consumer.ts';
import { judgePackedPackage } from '../src/packed-package.ts';
import { parseManifest } from '../src/workspace.ts';
import { makeCheckout, type Checkout } from './checkout.ts';

const MANIFEST = {
  name: '@holdfast/packed',
  version: '0.1.0',
  type: 'module',
  bin: { 'holdfast-packed': './dist/cli.js' },
  files: ['dist', 'README.md', 'CHANGELOG.md', 'LICENSE'],
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './part': { types: './dist/part.d.ts', default: './dist/part.js' },
    './package.json': './package.json',
  },
};
const DIST = {
  'dist/index.js': 'export const whole = 1;\n',
  'dist/index.d.ts': 'export declare const whole: number;\n',
  'dist/part.js': 'export const part = 2;\n',
  'dist/part.d.ts': 'export declare const part: number;\n',
  'dist/cli.js': `console.log(process.argv[2] === '--version' ? '0.1.0' : 'Usage: holdfast-packed');\n`,
};

describe('judgePackedPackage', () => {
  const manifest = parseManifest(JSON.stringify(MANIFEST));
  const files = ['package.json', 'README.md', 'LICENSE', ...Object.keys(DIST)];

  it('has nothing to say of a whole package', () => {
    expect(judgePackedPackage(manifest, files, false)).toEqual([]);
    expect(judgePackedPackage(manifest, [...files, 'CHANGELOG.md'], true)).toEqual([]);
  });

  it('misses what must be in it', () => {
    expect(
      judgePackedPackage(manifest, ['package.json', 'dist/index.js', 'dist/part.js', 'dist/part.d.ts'], true),
    ).toEqual([
      '@holdfast/packed: the tarball lacks README.md, the page that the registry shows.',
      '@holdfast/packed: the tarball lacks LICENSE, which its users must get.',
      '@holdfast/packed: the tarball lacks CHANGELOG.md, which the package has.',
      '@holdfast/packed: the tarball lacks dist/index.d.ts, the "types" of @holdfast/packed.',
      '@holdfast/packed: the tarball lacks dist/cli.js, the command holdfast-packed.',
    ]);
  });

  it('asks for something in every folder that is to be packed', () => {
    const wider = { ...manifest, files: [...manifest.files, 'src'] };
    expect(judgePackedPackage(wider, files, false)).toEqual([
      '@holdfast/packed: "files" names src, and nothing of it is packed.',
    ]);
  });

  it.each([
    'test/a.ts',
    'src/a.test.ts',
    'src/fixtures/a.js',
    'coverage/results.json',
    'jest.config.js',
    'a.tsbuildinfo',
  ])('does not want %s', (file) => {
    expect(judgePackedPackage(manifest, [...files, file], false)).toEqual([
      `@holdfast/packed: the tarball holds ${file}, which is only for us.`,
    ]);
  });
});

describe('the user of the tarballs', () => {
  it('imports every entry that is code', () => {
    const specifiers = importableSpecifiers(parseManifest(JSON.stringify(MANIFEST)));
    expect(specifiers).toEqual(['@holdfast/packed', '@holdfast/packed/part']);
    expect(consumerSource(specifiers)).toBe(
      "import * as package0 from '@holdfast/packed';\nimport * as package1 from '@holdfast/packed/part';\n" +
        'export const all = [package0, package1];\n',
    );
  });

  it('hears of errors in our packages and in its own file, not in other libraries', () => {
    const ours = [
      'consumer.ts(1,1): error TS2307: a',
      'node_modules/@holdfast/packed/dist/index.d.ts(1,1): error TS2307: b',
      'error TS5023: c',
    ];
    expect(
      ourFindings([...ours, 'node_modules/other/index.d.ts(1,1): error TS1: d', '  more of d'].join('\n')),
    ).toEqual(ours);
  });
});

describe('install-tarballs', () => {
  let checkout: Checkout | undefined;
  afterEach(() => {
    checkout?.remove();
  });

  const run = (
    changes: Readonly<Record<string, string | object>>,
  ): { status: number | null; stdout: string; stderr: string } => {
    const inPackage = Object.entries(DIST).map(([path, text]) => [`packages/packed/${path}`, text] as const);
    checkout = makeCheckout(
      {
        'package.json': { name: 'small', private: true, workspaces: ['packages/*'] },
        'packages/packed/package.json': MANIFEST,
        'packages/packed/README.md': '# Packed\n',
        'packages/packed/LICENSE': 'free',
        ...Object.fromEntries(inPackage),
        'packages/user/package.json': {
          name: '@holdfast/user',
          version: '0.1.0',
          type: 'module',
          files: ['dist', 'README.md', 'LICENSE'],
          exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
          dependencies: { '@holdfast/packed': '^0.1.0' },
        },
        'packages/user/README.md': '# User\n',
        'packages/user/LICENSE': 'free',
        'packages/user/dist/index.js': `export { part as used } from '@holdfast/packed/part';\n`,
        'packages/user/dist/index.d.ts': `export { part as used } from '@holdfast/packed/part';\n`,
        ...changes,
      },
      'with tools',
    );
    const main = join(import.meta.dirname, '../src/install-tarballs.ts');
    return spawnSync(process.execPath, [main, '--root', checkout.root], { encoding: 'utf8' });
  };

  it('uses whole packages as a stranger would', () => {
    expect(run({})).toMatchObject({
      status: 0,
      stdout: '2 packages install, import, type-check and run from their tarballs.\n',
      stderr: '',
    });
  });

  it('finds what a stranger would run into', () => {
    const { status, stderr } = run({
      'packages/packed/dist/index.js': `import './absent.js';\n`,
      'packages/packed/dist/part.d.ts': `import type { Absent } from 'absent';\nexport declare const part: Absent;\n`,
      'packages/packed/dist/part.test.js': '',
      'packages/packed/dist/cli.js': `console.log('0.1.0'); if (process.argv[2] === '--help') process.exit(2);\n`,
    });
    expect(status).toBe(1);
    expect(stderr).toContain('@holdfast/packed: the tarball holds dist/part.test.js, which is only for us.');
    expect(stderr).toContain(`import '@holdfast/packed' failed`);
    expect(stderr).not.toContain(`import '@holdfast/user' failed`);
    expect(stderr).toMatch(
      /the types of the tarballs: node_modules\/@holdfast\/packed\/dist\/part\.d\.ts.*'absent'/,
    );
    expect(stderr).toContain('holdfast-packed --help must name the command and end with 0:\n0.1.0');
    expect(stderr).not.toContain('--version must print');
  });

  it('asks for a build first', () => {
    const { status, stderr } = run({
      'packages/bare/package.json': { name: '@holdfast/bare', version: '0.1.0' },
    });
    expect(status).toBe(1);
    expect(stderr).toBe('packages/bare: has no dist; run `npm run build` first.\n');
  });
});
