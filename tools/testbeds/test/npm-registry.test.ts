import { describe, expect, it } from '@jest/globals';
import {
  npmRegistry,
  runProgram,
  testHome,
  type NpmPackage,
  type NpmRegistry,
  type ProgramResult,
  type RegistryMood,
  type TestHome,
} from '@holdfast/testbeds';

const NAME = '@acme/tool';

function tool(version: string, more: Partial<NpmPackage> = {}): NpmPackage {
  return {
    name: NAME,
    version,
    bin: { tool: 'tool.js' },
    files: { 'tool.js': `#!/usr/bin/env node\nconsole.log('tool ${version}');\n` },
    ...more,
  };
}

/** Runs npx as it would run on a machine of its own, whatever npm is told on this one. */
async function npx(home: TestHome, registry: NpmRegistry, ...args: string[]): Promise<ProgramResult> {
  const inherited = Object.keys(process.env).filter((name) => /^npm_/i.test(name));
  return await runProgram(['npx', '--yes', ...args], {
    cwd: await home.folder('empty'),
    env: {
      ...Object.fromEntries(inherited.map((name) => [name, undefined])),
      HOME: home.root,
      npm_config_registry: registry.url,
      npm_config_globalconfig: home.path('no-such-npmrc'),
      npm_config_fetch_retries: '0',
      // Only an answer that never comes is to be waited for a short time.
      npm_config_fetch_timeout: registry.mood === 'silent' ? '2000' : '60000',
    },
    timeoutMs: 120_000,
  });
}

describe('a registry', () => {
  it('serves packages that npm installs and runs', async () => {
    await using home = await testHome('registry');
    await using registry = await npmRegistry();
    registry.publish(tool('1.0.0', { dependencies: { 'acme-part': '^2.0.0' } }));
    registry.publish({ name: 'acme-part', version: '2.1.0', files: { 'index.js': '' } });
    expect(await npx(home, registry, `${NAME}@1.0.0`)).toMatchObject({ exitCode: 0, stdout: 'tool 1.0.0\n' });
    expect(registry.requests('/acme-part/-/acme-part-2.1.0.tgz')).toEqual([
      { method: 'GET', path: '/acme-part/-/acme-part-2.1.0.tgz' },
    ]);
    expect((await npx(home, registry, `${NAME}@9.9.9`)).stderr).toContain('code ETARGET');
    expect((await npx(home, registry, '@acme/nothing@1.0.0')).stderr).toContain('code E404');
  });

  it('publishes behind the back of a client that prefers its copy', async () => {
    await using home = await testHome('registry');
    await using registry = await npmRegistry();
    registry.publish(tool('1.0.0'));
    await npx(home, registry, `${NAME}@1.0.0`);
    registry.publish(tool('1.1.0'));
    const offline = await npx(home, registry, '--prefer-offline', `${NAME}@1.1.0`);
    expect(offline.stderr).toContain(`No matching version found for ${NAME}@1.1.0.`);
    const online = await npx(home, registry, '--prefer-online', `${NAME}@1.1.0`);
    expect(online.stdout).toBe('tool 1.1.0\n');
  });

  it('tells when a version was published', async () => {
    await using home = await testHome('registry');
    await using registry = await npmRegistry();
    registry.publish(tool('1.0.0', { publishedAt: new Date('2026-03-01T00:00:00Z') }));
    const result = await npx(home, registry, '--before', '2026-02-01', `${NAME}@1.0.0`);
    expect(result.stderr).toContain('with a date before');
  });

  it.each<[NonNullable<NpmPackage['archive']>, string]>([
    ['tampered', 'code EINTEGRITY'],
    ['cut', 'npm error'],
  ])('sends archives that are %s', async (archive, said) => {
    await using home = await testHome('registry');
    await using registry = await npmRegistry();
    registry.publish(tool('1.0.0', { archive }));
    const result = await npx(home, registry, `${NAME}@1.0.0`);
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr).toContain(said);
  });

  it.each<[RegistryMood, string]>([
    ['page', 'invalid json response'],
    ['silent', 'timeout'],
    ['reset', 'ECONNRESET'],
    [401, 'E401'],
    [500, 'E500'],
  ])('in the mood "%s" refuses', async (mood, said) => {
    await using home = await testHome('registry');
    await using registry = await npmRegistry();
    registry.publish(tool('1.0.0'));
    registry.mood = mood;
    const result = await npx(home, registry, `${NAME}@1.0.0`);
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr).toContain(said);
    registry.mood = 'well';
    expect(await npx(home, registry, `${NAME}@1.0.0`)).toMatchObject({ exitCode: 0 });
  });
});
