import preset from '../../jest.preset.js';

/** The tests of the endpoint. Those of the agents need a large download; see jest.agents.config.js. */
export default { ...preset, testMatch: ['<rootDir>/test/mock-model/**/*.test.ts'] };
