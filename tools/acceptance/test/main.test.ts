import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const MAIN = join(import.meta.dirname, '../src/main.ts');

describe('npm run acceptance', () => {
  let root = '';

  const write = (path: string, text: string): void => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [MAIN, '--root', root, ...args], { encoding: 'utf8' });
  const record = (): string => readFileSync(join(root, 'docs/acceptance-shown.txt'), 'utf8');

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-acceptance-'));
    write(
      'docs/acceptance.md',
      '## One\n\n| id | what must hold |\n| --- | --- |\n| OWN-01 | a |\n| OWN-02 | b |\n',
    );
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('walks a row from new over recorded to lost', () => {
    write('packages/p/test/deep/a.test.ts', `it('t [OWN-01]', () => {});`);
    write('packages/p/node_modules/q/test/b.test.ts', `it('t [OWN-02]', () => {});`);

    const fresh = run();
    expect(fresh.status).toBe(1);
    expect(fresh.stdout).toContain(
      'OWN-01  packages/p/test/deep/a.test.ts > t [OWN-01]\nOWN-02  not shown yet\n',
    );
    expect(fresh.stderr).toContain('npm run acceptance -- --update');
    expect(fresh.stderr).toContain('OWN-01 is shown now and not yet recorded.');

    expect(run('--update').status).toBe(0);
    expect(record()).toBe('OWN-01\n');
    expect(run()).toMatchObject({ status: 0, stderr: '' });

    write('packages/p/test/deep/a.test.ts', `it.skip('t [OWN-01]', () => {});`);
    const lost = run();
    expect(lost.status).toBe(1);
    expect(lost.stderr).toContain('OWN-01 was shown once and is no longer: bring its test back.');
  });

  it('does not rewrite the record while a title is wrong', () => {
    write('docs/acceptance-shown.txt', 'OWN-01\n');
    write('tools/t/test/a.test.ts', `it('t [OWN-03]', () => {});`);
    const updated = run('--update');
    expect(updated.status).toBe(1);
    expect(updated.stderr).toContain('"OWN-03" is no id of docs/acceptance.md');
    expect(record()).toBe('OWN-01\n');
  });
});
