import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import { judgeDependencyReasons } from '../src/dependency-reasons.ts';
import { judgeLockfile } from '../src/lockfile.ts';
import { judgePackage, type Surroundings } from '../src/package-manifest.ts';
import { parseManifest, type Workspace } from '../src/workspace.ts';
import { makeCheckout, type Checkout } from './checkout.ts';

const ROOT = { name: 'small', license: 'Apache-2.0', engines: { node: '>=22' }, workspaces: ['packages/*'] };
const GOOD = {
  name: '@holdfast/good',
  version: '0.1.0',
  description: 'Is in order.',
  license: 'Apache-2.0',
  type: 'module',
  files: ['dist', 'src', 'README.md', 'CHANGELOG.md', 'LICENSE'],
  exports: {
    '.': { '@holdfast/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    './package.json': './package.json',
  },
  publishConfig: { access: 'public' },
  engines: { node: '>=22' },
  dependencies: { zod: '^4.0.0' },
};

function workspace(fields: object, folder = 'packages/good'): Workspace {
  return { folder, manifest: parseManifest(JSON.stringify(fields)) };
}

describe('judgeLockfile', () => {
  it('accepts links to workspaces and hashes', () => {
    expect(judgeLockfile('{\n"resolved": "packages/a",\n"integrity": "sha512-x"\n}')).toEqual([]);
  });

  it('names the line and the host of an address', () => {
    expect(judgeLockfile('{\n  "resolved": "https://registry.example/a/-/a-1.0.0.tgz",\n}')).toEqual([
      expect.stringMatching(/^package-lock\.json, line 2: names registry\.example;/),
    ]);
  });
});

describe('judgePackage', () => {
  const surroundings: Surroundings = {
    root: parseManifest(JSON.stringify(ROOT)),
    workspaces: [
      workspace({ name: '@holdfast/sibling', version: '0.2.0' }, 'packages/sibling'),
      workspace({ name: '@holdfast/tool', version: '0.0.0', private: true }, 'tools/tool'),
    ],
    exists: () => true,
    isOurLicense: () => true,
  };

  it('has nothing to say of a package in order', () => {
    expect(judgePackage(workspace(GOOD), surroundings)).toEqual([]);
  });

  it.each([
    ['a foreign name', { name: 'good' }, 'its name must begin with @holdfast/'],
    ['no description', { description: undefined }, 'needs a description'],
    ['another license', { license: 'MIT' }, 'needs "license": "Apache-2.0"'],
    ['CommonJS', { type: undefined }, 'needs "type": "module"'],
    ['restricted access', { publishConfig: {} }, 'needs "publishConfig"'],
    ['other engines', { engines: { node: '>=20' } }, 'needs "engines": { "node": ">=22" }'],
    ['files that lack one', { files: ['dist', 'README.md'] }, '"files" must be dist, src, README.md'],
    ['no main entry', { exports: { './package.json': './package.json' } }, '"exports" must declare "."'],
    [
      'conditions in another order',
      { exports: { '.': { types: './t', default: './d', '@holdfast/source': './s' } } },
      'the conditions of @holdfast/good must be @holdfast/source, types, default, not types, default, @holdfast/source',
    ],
    [
      'a pattern',
      { exports: { ...GOOD.exports, './x/*': './dist/x/*.js' } },
      'the conditions of @holdfast/good/x/*',
    ],
    [
      'a private sibling',
      { dependencies: { '@holdfast/tool': '*' } },
      'depends on @holdfast/tool, which is never',
    ],
    [
      'any version of a sibling',
      { dependencies: { '@holdfast/sibling': '*' } },
      'must depend on @holdfast/sibling as "^0.2.0", not "*"',
    ],
  ])('rejects %s', (_what, change, complaint) => {
    expect(judgePackage(workspace({ ...GOOD, ...change }), surroundings).join('\n')).toContain(complaint);
  });

  it('misses the README, the LICENSE and the source of an entry', () => {
    const bare = { ...surroundings, exists: () => false, isOurLicense: () => false };
    expect(judgePackage(workspace(GOOD), bare)).toEqual([
      'packages/good: needs a README.md.',
      'packages/good: needs a LICENSE, a copy of the one in the root: npm packs no other.',
      'packages/good: @holdfast/good names ./src/index.ts: no such file.',
    ]);
  });
});

describe('judgeDependencyReasons', () => {
  const root = parseManifest(JSON.stringify({ ...ROOT, devDependencies: { nx: '1.0.0' } }));
  const workspaces = [
    workspace({
      ...GOOD,
      dependencies: { zod: '^4.0.0', '@holdfast/sibling': '^0.2.0' },
      peerDependencies: { pg: '8' },
    }),
    workspace({ name: '@holdfast/sibling' }, 'packages/sibling'),
  ];
  const judgeRows = (...rows: string[]): string[] =>
    judgeDependencyReasons(
      ['| package | why |', '| --- | --- |', '| `zod` | schemas |', '| `pg` | the database |', ...rows].join(
        '\n',
      ),
      root,
      workspaces,
    );

  it('asks for a row for everything that is shipped, siblings excepted', () => {
    expect(judgeDependencyReasons('', root, workspaces)).toEqual([
      'packages/good: depends on zod, and docs/dependencies.md has no row that says why.',
      'packages/good: depends on pg, and docs/dependencies.md has no row that says why.',
    ]);
    expect(judgeRows('| `nx` | runs the tasks |')).toEqual([]);
    expect(judgeDependencyReasons('| `zod`, `pg` | both |', root, workspaces)).toEqual([]);
  });

  it('rejects rows that say nothing, say it twice or outlive their dependency', () => {
    expect(judgeRows('| `nx` | |', '| `zod`, `nx` | again |', '| `gone` | was useful |')).toEqual([
      'docs/dependencies.md, line 5: a row needs a reason, and no empty cell.',
      'docs/dependencies.md: zod has two rows.',
      'docs/dependencies.md: nx has two rows.',
      'docs/dependencies.md: nothing depends on gone any more.',
    ]);
  });
});

describe('the check of a checkout', () => {
  let checkout: Checkout | undefined;
  afterEach(() => {
    checkout?.remove();
  });

  it('passes one in order, and fails with every problem of one that is not', () => {
    checkout = makeCheckout(
      {
        'package.json': ROOT,
        'package-lock.json': '{}\n',
        LICENSE: 'free',
        'docs/dependencies.md': '| `zod` | schemas |\n',
        'packages/good/package.json': GOOD,
        'packages/good/src/index.ts': '',
        'packages/good/README.md': '',
        'packages/good/LICENSE': 'free',
        'packages/private/package.json': { name: 'anything', private: true },
      },
      'bare',
    );
    const { root, write } = checkout;
    const run = (): { status: number | null; stderr: string } =>
      spawnSync(process.execPath, [join(import.meta.dirname, '../src/check-manifests.ts'), '--root', root], {
        encoding: 'utf8',
      });
    expect(run()).toMatchObject({ status: 0, stderr: '' });

    write('packages/good/LICENSE', 'not so free');
    write('package-lock.json', '{ "resolved": "https://registry.example/a.tgz" }');
    const { status, stderr } = run();
    expect(status).toBe(1);
    expect(stderr).toMatch(/^package-lock\.json, line 1: .*\npackages\/good: needs a LICENSE.*\n$/);
  });
});
