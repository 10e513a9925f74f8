import { readFile, readdir, writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
import {
  collectFiles,
  collectProcess,
  findIn,
  storedSecrets,
  type Artefacts,
} from '../fixtures/artefacts.ts';
import { Backend } from '../fixtures/backend-driver.ts';
import { survivorOf } from '../fixtures/survivor.ts';

const LONG_MS = 300_000;

const ENVIRONMENT = 'canary-in-an-environment-5d1f';
const MCP = 'canary-of-an-mcp-server-77ac';
const SCRIBBLED = 'canary-in-a-broken-secret-0be4';
const VISIBLE = 'canary-that-an-agent-says-e2c9';

const environment = { PROVIDER_KEY: ENVIRONMENT };
const agents = {
  scripted: {
    command: scriptedAgentCommand(),
    environment,
    mcpServers: [{ name: 'tools', command: 'true', args: [], env: [{ name: 'TOKEN', value: MCP }] }],
  },
  failing: {
    command: scriptedAgentCommand(),
    environment: { ...environment, ...startBehaviour({ exit: 3, stderr: 'out of luck' }) },
  },
  missing: { command: ['/no/such/agent'], environment },
};

describe('secrets', () => {
  it(
    'are in their store and with whom they are for, and nowhere else in a whole life [CONTRACT-03, CONTRACT-09]',
    async () => {
      await using home = await testHome('secrets');
      const recordSecrets = home.path('made-secrets');
      const artefacts: Artefacts = new Map();
      const credentials = new Set<string>();
      const look = async (backend: Backend, when: string): Promise<{ server: number; agent: number }> => {
        await collectFiles(artefacts, home, when);
        for (const secret of await storedSecrets(home)) credentials.add(secret);
        const server = await serverPid(backend, home);
        const agent = (await backend.instance('one')).agentPid ?? 0;
        collectProcess(artefacts, `the server (${when})`, server);
        collectProcess(artefacts, `the agent (${when})`, agent);
        return { server, agent };
      };

      {
        await using first = await Backend.ready(home, { agents, recordSecrets });
        await first.create(home, 'one');
        const said = await first.prompt(
          'one',
          script({ step: 'stderr', text: 'a word on stderr' }, { step: 'say', text: VISIBLE }),
        );
        await first.do('outcome', said);
        await provokeErrors(first, home);
        await look(first, 'first life');
        await first.prompt('one', script({ step: 'silence' }));
        await first.kill();
        artefacts.set('output of the first backend', Buffer.from(first.output()));
      }
      let survivor: { server: number; agent: number };
      {
        await using second = await Backend.ready(home, { agents, recordSecrets });
        expect((await second.waitForReady()).scopes).toMatchObject([{ server: 'adopted' }]);
        await provokeErrors(second, home);
        survivor = await look(second, 'after the adoption');
        await second.kill();
        artefacts.set('output of the second backend', Buffer.from(second.output()));
      }
      {
        await using _ = survivorOf(survivor);
        for (const name of await readdir(home.path('home', 'secrets'))) {
          await writeFile(home.path('home', 'secrets', name), `{"version":1,"secret":${SCRIBBLED}`);
        }
        await using third = await Backend.ready(home, { agents, recordSecrets });
        expect((await third.waitForReady()).scopes).toMatchObject([{ refusal: 'credential_unavailable' }]);
        await third.create(home, 'two');
        await third.close('stop');
        artefacts.set('output of the third backend', Buffer.from(third.output()));
        await collectFiles(artefacts, home, 'in the end');
      }

      // What is looked for can be found: the agent's own words are in the ledger, its key is in its environment.
      expect(findIn(artefacts, [VISIBLE]).join()).toContain('ledger.db');
      expect([...artefacts.keys()].join()).toContain('logs/control-server.log (in the end)');
      const made = (await readFile(recordSecrets, 'utf8')).trim().split('\n');
      expect(made.length).toBeGreaterThan(2);
      expect(credentials.size).toBe(2);

      expect(findIn(artefacts, [...credentials])).toEqual([]);
      // The nonces of the servers that were started, and the challenges of the proofs.
      expect(findIn(artefacts, made)).toEqual([]);
      expect(findIn(artefacts, [MCP, SCRIBBLED])).toEqual([]);
      expect(findIn(artefacts, [ENVIRONMENT])).toEqual([
        'environ of the agent (first life)',
        'environ of the agent (after the adoption)',
      ]);
    },
    LONG_MS,
  );
});

/** Errors of many kinds, each of which the backend tells in full. */
async function provokeErrors(backend: Backend, home: TestHome): Promise<void> {
  const known = `${String((await backend.do('turns', 'one')).length)}-${String(backend.pid)}`;
  await expect(backend.create(home, `failing-${known}`, 'failing')).rejects.toMatchObject({
    code: 'agent_start_failed',
  });
  await expect(backend.create(home, `missing-${known}`, 'missing')).rejects.toMatchObject({
    code: 'agent_start_failed',
  });
  await expect(backend.create(home, 'one')).rejects.toMatchObject({ code: expect.any(String) });
  await expect(backend.create(home, 'odd', 'unknown')).rejects.toThrow('is not accepted');
  await expect(
    backend.do('answer', { sessionId: 'one', requestId: 'none', optionId: 'none' }),
  ).rejects.toMatchObject({ code: 'permission_not_found' });
  await expect(backend.do('record', 'none')).rejects.toThrow('no session none');
}

async function serverPid(backend: Backend, home: TestHome): Promise<number> {
  return await until(() => backend.serverPid(home), { reason: 'the server’s pid', withinMs: 60_000 });
}
