import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import prepareRun from '../../../jest.global-setup.ts';

let before: NodeJS.ProcessEnv;

beforeEach(() => {
  before = { ...process.env };
});

afterEach(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});

describe('a run of tests', () => {
  it.each([
    'NODE_EXTRA_CA_CERTS',
    'NODE_USE_ENV_PROXY',
    'NODE_DEBUG',
    'HTTP_PROXY',
    'https_proxy',
    'npm_config_registry',
    'NPM_CONFIG_CACHE',
    'FORCE_COLOR',
    'NO_COLOR',
    'DEBUG',
    'GIT_DIR',
    'PGHOST',
    'KANDEV_ACP_IDLE_TIMEOUT',
  ])('has no %s of the machine to pass on to the programs that tests start', (name) => {
    process.env[name] = 'of the machine';
    prepareRun({});
    expect(process.env[name]).toBeUndefined();
  });

  it('reaches this machine without a proxy', () => {
    process.env['no_proxy'] = 'somewhere.else';
    prepareRun({});
    expect(process.env).toMatchObject({ NO_PROXY: '127.0.0.1,localhost,::1' });
    expect(process.env['no_proxy']).toBeUndefined();
  });

  it.each(['PATH', 'NODE_OPTIONS', 'HOLDFAST_REQUIRE', 'npm_execpath', 'PGP_KEY', 'TZ'])(
    'has its %s',
    (name) => {
      process.env[name] = 'of the run';
      prepareRun({});
      expect(process.env[name]).toBe('of the run');
    },
  );
});
