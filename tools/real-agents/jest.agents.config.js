import preset from '../../jest.preset.js';

/** The tests with agents from npm. */
export default { ...preset, testMatch: ['<rootDir>/test/agents/**/*.test.ts'] };
