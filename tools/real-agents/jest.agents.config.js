import preset from '../../jest.preset.js';

/** The tests with agents from npm. The download may need the certificates and the proxy that other tests run without. */
export default {
  ...preset,
  globalSetup: undefined,
  testMatch: ['<rootDir>/test/agents/**/*.test.ts'],
};
