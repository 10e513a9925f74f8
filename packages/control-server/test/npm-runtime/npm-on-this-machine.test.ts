import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parsePackageSpec } from '@holdfast/control-protocol';
import { runProgram, testHome, npmRegistry } from '@holdfast/testbeds';
import * as fc from 'fast-check';
import { readdir } from 'node:fs/promises';
import { executionKey } from '../../src/npm-runtime/execution-key.ts';
import { isInstalled } from '../../src/npm-runtime/execution-tree.ts';
import { prepareNeutralDirectory } from '../../src/npm-runtime/neutral-directory.ts';

interface NpmSpec {
  readonly type: string;
  readonly name: string;
  readonly fetchSpec: string;
  readonly registry?: boolean;
}

/** npm's own reading of a spec, out of the npm in the PATH. */
async function npmsReading(): Promise<(spec: string) => NpmSpec> {
  await using home = await testHome('npm-spec');
  // npm tells what it runs where it is; a look at the PATH may find a wrapper only.
  const { stdout } = await runProgram(['npm', 'exec', '--offline', '-c', 'printf %s "$npm_execpath"'], {
    cwd: home.root,
    env: { HOME: home.root },
    timeoutMs: 60_000,
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what npm has is not declared
  return createRequire(stdout)('npm-package-arg') as (spec: string) => NpmSpec;
}

it('reads as one exact version from a registry whatever spec is accepted [RUNTIME-002.4]', async () => {
  const read = await npmsReading();
  const part = fc.stringMatching(/^[a-z0-9._@/~:+ -]{1,8}$/);
  const spec = fc.oneof(
    fc.tuple(part, part).map(([name, version]) => `${name}@${version}`),
    fc
      .tuple(
        fc.stringMatching(/^(?:@[a-z0-9._-]{1,4}\/)?[a-z0-9._-]{1,8}$/),
        fc.stringMatching(/^[0-9]{1,17}\.[0-9]\.[0-9](?:-[0-9a-zA-Z.-]{1,8})?$/),
      )
      .map(([name, version]) => `${name}@${version}`),
    fc.constantFrom('.tgz', '.tar', '.tar.gz').map((end) => `a${end}@1.0.0`),
    fc.constantFrom('.tgz', '.tar', '.tar.gz').map((end) => `a@1.0.0-a${end}`),
  );
  let accepted = 0;
  fc.assert(
    fc.property(spec, (given) => {
      const parsed = parsePackageSpec(given);
      if (parsed === undefined) return true;
      accepted += 1;
      const { type, name, fetchSpec, registry } = read(given);
      return type === 'version' && registry === true && name === parsed.name && fetchSpec === parsed.version;
    }),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

it('installs one package under the key of its spec, and is done when the package counts as installed [RUNTIME-002.2]', async () => {
  await using home = await testHome('npm-key');
  await using registry = await npmRegistry();
  const directory = home.path('neutral');
  prepareNeutralDirectory(directory);
  const cache = home.path('cache');
  const specs = ['agent@1.0.0', '@acme/agent@2.0.0-rc.1'];
  for (const spec of specs) {
    const { name = '', version = '' } = parsePackageSpec(spec) ?? {};
    registry.publish({
      name,
      version,
      files: { 'cli.js': '#!/usr/bin/env node\n' },
      bin: { agent: 'cli.js' },
    });
    expect(isInstalled(cache, executionKey(spec))).toBe(false);
    const { exitCode, stderr } = await runProgram(['npx', '--yes', '--prefer-offline', spec], {
      cwd: directory,
      env: { HOME: home.root, npm_config_cache: cache, npm_config_registry: registry.url },
      timeoutMs: 60_000,
    });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(isInstalled(cache, executionKey(spec))).toBe(true);
  }
  expect((await readdir(join(cache, '_npx'))).toSorted()).toEqual(specs.map(executionKey).toSorted());
});
