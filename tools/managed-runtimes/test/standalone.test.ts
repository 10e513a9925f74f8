import { runProgram, testHome } from '@holdfast/testbeds';
import { standalone } from '@holdfast/executor-standalone';
import { describeManagedRuntime } from '../src/describe-managed-runtime.ts';

describeManagedRuntime(
  'standalone runs agents from npm [RUNTIME-001.1, RUNTIME-001.2, RUNTIME-001.3, RUNTIME-001.4, RUNTIME-001.5, RUNTIME-002.3, RUNTIME-002.5, RUNTIME-002.6]',
  async () => {
    const home = await testHome('managed');
    const inherited = Object.keys(process.env).filter((name) => /^npm_/i.test(name));
    return {
      runtime: standalone(),
      hostHome: home.path('host'),
      workspace: await home.folder('workspace'),
      root: await home.folder('agents'),
      registryHost: { listen: '127.0.0.1', reach: '127.0.0.1' },
      run: async (command, environment) =>
        await runProgram(command, {
          cwd: home.path('agents'),
          // npm, when it runs tests, tells its programs how it is set up itself.
          env: { ...Object.fromEntries(inherited.map((name) => [name, undefined])), ...environment },
          timeoutMs: 60_000,
        }),
      [Symbol.asyncDispose]: async () => {
        await home[Symbol.asyncDispose]();
      },
    };
  },
);
