import { expect, it } from '@jest/globals';
import { withFetchLimits } from '../../src/npm-runtime/fetch-limits.ts';

const ALL = {
  npm_config_fetch_retries: '1',
  npm_config_fetch_timeout: '120000',
  npm_config_fetch_retry_mintimeout: '1000',
  npm_config_fetch_retry_maxtimeout: '10000',
};

it('bounds what npm tries, and leaves everything else as it is', () => {
  const environment = { PATH: '/bin', npm_config_registry: 'http://127.0.0.1:1', NPM_CONFIG_CACHE: '/c' };
  expect(withFetchLimits(environment)).toEqual({ ...environment, ...ALL });
});

it.each([
  'npm_config_fetch_retries',
  'NPM_CONFIG_FETCH_RETRIES',
  'npm_config_fetch-retries',
  'Npm_Config_Fetch_Retries',
])('leaves the retries to an environment with %s', (name) => {
  const { npm_config_fetch_retries: _, ...rest } = ALL;
  expect(withFetchLimits({ [name]: '5' })).toEqual({ [name]: '5', ...rest });
});

it('takes an empty value for none, as npm does', () => {
  expect(withFetchLimits({ NPM_CONFIG_FETCH_RETRIES: '' })).toEqual({ NPM_CONFIG_FETCH_RETRIES: '', ...ALL });
});

it('does not set one end of the pause between tries when the environment sets the other', () => {
  const { npm_config_fetch_retries, npm_config_fetch_timeout } = ALL;
  const environment = { NPM_CONFIG_FETCH_RETRY_MINTIMEOUT: '60000' };
  expect(withFetchLimits(environment)).toEqual({
    ...environment,
    npm_config_fetch_retries,
    npm_config_fetch_timeout,
  });
});
