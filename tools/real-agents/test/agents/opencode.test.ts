import { describe } from '@jest/globals';
import { opencode } from '../../src/opencode/opencode.ts';
import { testSurvival } from './test-survival.ts';

describe('opencode', () => {
  testSurvival(opencode);
});
