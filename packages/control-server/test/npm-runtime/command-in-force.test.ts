import { writeFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { npmRegistry, runProgram, testHome, type NpmPackage } from '@holdfast/testbeds';
import { withPreference, withoutOtherCommands } from '../../src/npm-runtime/command-in-force.ts';
import { prepareNeutralDirectory } from '../../src/npm-runtime/neutral-directory.ts';

const REST = { PATH: '/bin', npm_config_registry: 'http://127.0.0.1:1', npm_package_name: 'host', call: 'x' };

it('leaves out what makes npx run something else, however it is written, and nothing else', () => {
  const others = {
    npm_config_package: 'other',
    NPM_CONFIG_CALL: 'echo other',
    npm_config_workspace: 'host',
    Npm_Config_Workspaces: 'true',
  };
  expect(withoutOtherCommands({ ...REST, ...others, npm_config_prefix: '/usr' })).toEqual({
    ...REST,
    npm_config_prefix: '/usr',
  });
});

it('lets the command say what npm prefers', () => {
  const settings = {
    npm_config_prefer_offline: 'true',
    NPM_CONFIG_PREFER_ONLINE: 'true',
    'npm_config_cache-min': '9999',
    npm_config_cache_max: '0',
  };
  expect(withPreference({ ...REST, ...settings }, '--prefer-offline')).toEqual(REST);
  expect(withPreference({ ...REST, ...settings }, '--prefer-online')).toEqual({
    ...REST,
    npm_config_prefer_offline: 'false',
  });
  // To be offline is no preference.
  expect(withPreference({ npm_config_offline: 'true' }, '--prefer-offline')).toEqual({
    npm_config_offline: 'true',
  });
});

it('is what it takes for npx to run what its arguments say', async () => {
  await using home = await testHome('npm-command');
  await using registry = await npmRegistry();
  const version = (number: string): NpmPackage => ({
    name: 'agent',
    version: number,
    files: { 'cli.js': `#!/usr/bin/env node\nconsole.log('agent ${number}');\n` },
    bin: { agent: 'cli.js' },
  });
  registry.publish(version('1.0.0'));
  const directory = home.path('neutral');
  prepareNeutralDirectory(directory);
  await writeFile(`${await home.folder('user')}/.npmrc`, 'prefer-offline=true\n');
  const environment = {
    HOME: home.path('user'),
    npm_config_cache: home.path('cache'),
    npm_config_registry: registry.url,
    npm_config_call: 'echo other',
    npm_config_package: 'other',
    NPM_CONFIG_WORKSPACE: 'other',
  };
  const run = async (number: string, preference: '--prefer-offline' | '--prefer-online') =>
    await runProgram(['npx', '--yes', preference, `agent@${number}`], {
      cwd: directory,
      env: withPreference(withoutOtherCommands(environment), preference),
      timeoutMs: 60_000,
    });
  expect(await run('1.0.0', '--prefer-offline')).toMatchObject({ exitCode: 0, stdout: 'agent 1.0.0\n' });
  registry.publish(version('1.1.0'));
  expect(await run('1.1.0', '--prefer-offline')).toMatchObject({ exitCode: 1, stdout: '' });
  expect(await run('1.1.0', '--prefer-online')).toMatchObject({ exitCode: 0, stdout: 'agent 1.1.0\n' });
});
