import { runProgram, testHome } from '@holdfast/testbeds';
import { standalone } from '@holdfast/executor-standalone';
import { describeManagedRuntime } from '../src/describe-managed-runtime.ts';

describeManagedRuntime('standalone', async () => {
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
});
