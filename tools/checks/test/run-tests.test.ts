import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from '@jest/globals';

import { makeCheckout, OURS, type Checkout } from './checkout.ts';

const JEST = 'NODE_OPTIONS=--experimental-vm-modules jest --json --outputFile=coverage/results.json';

function workspace(name: string, test: string | undefined): object {
  return { name, version: '0.0.0', type: 'module', scripts: test === undefined ? {} : { test } };
}

describe('npm test', () => {
  let checkout: Checkout | undefined;
  afterEach(() => {
    checkout?.remove();
  });

  const run = (files: Readonly<Record<string, string | object>>, ...args: string[]) => {
    checkout = makeCheckout(
      {
        'package.json': { name: 'small', private: true, workspaces: ['packages/*'] },
        'nx.json': {
          analytics: false,
          neverConnectToCloud: true,
          useDaemonProcess: false,
          cacheDirectory: '.nx/cache',
        },
        ...files,
      },
      'with tools',
    );
    // The run around this one is an nx task itself, and would be taken for the inner one's.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('NX_')));
    env['NX_DAEMON'] = 'false';
    const main = join(OURS, 'tools/checks/src/run-tests.ts');
    return spawnSync(process.execPath, [main, '--root', checkout.root, ...args], { env, encoding: 'utf8' });
  };
  const lastLine = (output: string): string | undefined => output.trimEnd().split('\n').at(-1);

  const passing = {
    'packages/good/package.json': workspace('good', JEST),
    'packages/good/jest.config.js': `export { default } from '${OURS}/jest.preset.js';`,
    'packages/good/test/a.test.ts': `
      import { expect, it } from '@jest/globals';
      it('holds', () => { expect(1).toBe(1); });
      it.skip('is not run', () => {});`,
    'packages/untested/package.json': workspace('untested', undefined),
  };

  it('runs the tests of every workspace that has some', () => {
    const { status, stdout } = run(passing);
    expect(lastLine(stdout)).toBe('1 passed, 0 failed, 1 skipped');
    expect(status).toBe(0);
  });

  it('counts what failed, what did not load and what left no results, and names it', () => {
    const { status, stdout } = run({
      ...passing,
      'packages/good/test/b.test.ts': `
        import { expect, it } from '@jest/globals';
        it('does not hold', () => { expect(1).toBe(2); });`,
      'packages/good/test/c.test.ts': `import './absent.ts';`,
      'packages/silent/package.json': workspace('silent', 'true'),
      // What an earlier run left is no result of this one.
      'packages/silent/coverage/results.json': {
        testResults: [{ assertionResults: [{ status: 'passed' }] }],
      },
    });
    expect(lastLine(stdout)).toBe('1 passed, 3 failed, 1 skipped');
    expect(stdout).toMatch(/b\.test\.ts > does not hold\n/);
    // Why it failed stands at the end as well.
    const end = stdout.slice(stdout.lastIndexOf('\npackages/good/test/b.test.ts > does not hold\n'));
    expect(end).toMatch(/^ {4}Expected: 2\n {4}Received: 1\n/m);
    expect(end).toMatch(/^ {8}at .*packages\/good\/test\/b\.test\.ts:3:/m);
    expect(end).toMatch(/^ {4}.*Cannot find module '\.\/absent\.ts'/m);
    expect(end).not.toContain('jest-circus');
    expect(stdout).toMatch(/c\.test\.ts: .*absent\.ts/);
    expect(stdout).toContain('  silent: its tests left no readable results\n');
    expect(status).toBe(1);
  });

  it('runs only the workspaces that are named', () => {
    const { status, stdout } = run(
      { ...passing, 'packages/silent/package.json': workspace('silent', 'touch ran') },
      'packages/good/',
    );
    expect(lastLine(stdout)).toBe('1 passed, 0 failed, 1 skipped');
    expect(existsSync(join(checkout?.root ?? '', 'packages/silent/ran'))).toBe(false);
    expect(status).toBe(0);
  });
});
