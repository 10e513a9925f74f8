import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@holdfast/testbeds';
import { agentEnvironment } from '../agent-environment.ts';
import type { RealAgent } from '../real-agent.ts';
import { finishedTurns } from './finished-turns.ts';

// It wants a model that it knows; the endpoint answers to any name.
const MODEL = 'gemini-2.5-pro';

const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
};

/** Gemini CLI, with the endpoint in place of Google's. */
export const geminiCli: RealAgent = {
  package: {
    name: '@google/gemini-cli',
    version: '0.61.0',
    bin: 'gemini',
    // Both build what it does without.
    installScripts: { '@github/keytar': false, 'node-pty': false },
  },
  shellTool: 'run_shell_command',
  otherMode: 'plan',
  saysOfMode: '[MODE_UPDATE] plan',
  looksFor: [],
  setUp: async ({ program, folder, model }) => {
    const environment = await agentEnvironment({ folder, model });
    await mkdir(join(folder, 'home', '.gemini'));
    await writeFile(join(folder, 'home', '.gemini', 'settings.json'), JSON.stringify(SETTINGS));
    return {
      command: [program, '--acp', '-m', MODEL],
      environment: {
        ...environment,
        GEMINI_CLI_HOME: join(folder, 'home'),
        GEMINI_API_KEY: 'none',
        GOOGLE_GEMINI_BASE_URL: model.origin,
      },
    };
  },
  loadable: async () => {
    // The file of a conversation is named after the minute; a load in the same one starts that file anew.
    const begun = minute();
    await until(() => minute() !== begun, { reason: 'another minute', withinMs: 70_000, everyMs: 500 });
  },
  finishedTurns,
};

function minute(): number {
  return Math.floor(Date.now() / 60_000);
}
