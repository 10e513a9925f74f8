import { agentEnvironment } from '../agent-environment.ts';
import { MODEL_ID } from '../mock-model/mock-model.ts';
import type { RealAgent } from '../real-agent.ts';
import { finishedTurns } from './finished-turns.ts';

/** opencode, with the endpoint as its only provider. */
export const opencode: RealAgent = {
  package: {
    name: 'opencode-ai',
    version: '1.18.33',
    bin: 'opencode',
    installScripts: { 'opencode-ai': true },
  },
  shellTool: 'bash',
  otherMode: 'plan',
  saysOfMode: '',
  // The package that its plugins would use.
  looksFor: [/^CONNECT registry\.[\w.]+:443$/],
  setUp: async ({ program, folder, model }) => ({
    command: [program, 'acp'],
    environment: {
      ...(await agentEnvironment({ folder, model })),
      OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(`${model.origin}/v1`)),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_SHARE: '1',
    },
  }),
  loadable: async () => {
    await Promise.resolve();
  },
  finishedTurns: async (folder) => await Promise.resolve(finishedTurns(folder)),
};

function configuration(baseURL: string): object {
  const model = `test/${MODEL_ID}`;
  const offered = { name: 'Scripted model', tool_call: true, limit: { context: 100_000, output: 8_000 } };
  return {
    model,
    small_model: model,
    autoupdate: false,
    share: 'disabled',
    permission: { bash: 'ask', edit: 'ask' },
    enabled_providers: ['test'],
    provider: {
      test: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Test',
        options: { baseURL, apiKey: 'none' },
        models: { [MODEL_ID]: offered },
      },
    },
  };
}
