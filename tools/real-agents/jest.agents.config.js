import preset from '../../jest.preset.js';

/** The tests with agents from npm. The download may need the certificates that other tests run without. */
export default {
  ...preset,
  globalSetup: undefined,
  testMatch: ['<rootDir>/test/agents/**/*.test.ts'],
};
