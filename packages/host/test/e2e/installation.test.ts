import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { testHome } from '@holdfast/testbeds';
import { openLedger } from '@holdfast/turn-ledger';
import { Backend, chunkTexts } from '../fixtures/backend-driver.ts';

const LONG_MS = 300_000;

describe('what the installation keeps', () => {
  it(
    'has one record of the control server, apart from sessions, and refuses a second backend [OWNERSHIP-001.1, OWNERSHIP-002.4]',
    async () => {
      await using home = await testHome('record');
      await using first = await Backend.ready(home);
      await expect(Backend.ready(home)).rejects.toMatchObject({
        code: 'installation_locked',
        facts: { holder: { pid: first.pid } },
      });
      await first.kill();

      await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
      expect(await ledger.executionRecords.listLive()).toEqual([]);
      const record = await ledger.controlServers.read('standalone');
      expect(record).toMatchObject({
        endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
        serverId: expect.any(String),
        capabilities: expect.arrayContaining(['turns.v1']),
        logFile: home.path('home', 'logs', 'control-server.log'),
      });
      expect(await readdir(home.path('home', 'secrets'))).toHaveLength(1);
      await ledger.close();

      // The lock went with its holder, however that ended; the server is adopted though no session is alive.
      await using second = await Backend.ready(home);
      const { scopes } = await second.waitForReady();
      expect(scopes).toMatchObject([{ scope: 'standalone', server: 'adopted', refusal: null }]);
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'holds no secret of an agent’s environment, and enumeration tells none [CONTRACT-03, CONTRACT-09]',
    async () => {
      await using home = await testHome('canary');
      const canary = 'canary-2f9c1e';
      const agents = { scripted: { command: scriptedAgentCommand(), environment: { PROVIDER_KEY: canary } } };
      {
        await using first = await Backend.ready(home, { agents });
        await first.create(home, 'one');
        const turnId = await first.prompt('one', script({ step: 'environment', name: 'PROVIDER_KEY' }));
        await first.do('outcome', turnId);
        // The agent has it, and said so: that is output, and the only place where it may stand.
        expect(chunkTexts(await first.allEvents('one')).join(' ')).toContain(canary);
        expect(JSON.stringify(await first.instance('one'))).not.toContain(canary);
        await first.kill();
      }
      await using second = await Backend.ready(home, { agents });
      expect(JSON.stringify(second.published())).not.toContain(canary);
      expect(await readFile(home.path('home', 'logs', 'control-server.log'), 'utf8')).not.toContain(canary);
      for (const name of await readdir(home.path('home', 'secrets'))) {
        expect(await readFile(join(home.path('home', 'secrets'), name), 'utf8')).not.toContain(canary);
      }
      await second.close('stop');
    },
    LONG_MS,
  );
});
