import { describe } from '@jest/globals';
import { geminiCli } from '../../src/gemini-cli/gemini-cli.ts';
import { testSurvival } from './test-survival.ts';

describe('Gemini CLI', () => {
  testSurvival(geminiCli);
});
