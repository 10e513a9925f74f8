import { join } from 'node:path';

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  globalSetup: join(import.meta.dirname, 'jest.global-setup.ts'),
  setupFiles: [join(import.meta.dirname, 'jest.suppressed-error.js')],
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // The suites start many real processes: nx runs two workspaces side by side, each of them one file at a time.
  maxWorkers: 1,
  // On a machine that does much else, a test of real processes takes many times as long. What never comes is found out by the
  // deadlines of its waits, which say what they waited for; this limit is for what nobody waits for in that way.
  testTimeout: 300_000,
  extensionsToTreatAsEsm: ['.ts'],
  testEnvironmentOptions: {
    // Sibling workspace packages load from src/, without a build.
    customExportConditions: ['@holdfast/source', 'node', 'node-addons'],
  },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  collectCoverageFrom: ['<rootDir>/src/**/*.ts'],
  coverageProvider: 'v8',
  coverageDirectory: '<rootDir>/coverage',
  coverageReporters: ['text-summary', 'json', 'lcovonly'],
};
