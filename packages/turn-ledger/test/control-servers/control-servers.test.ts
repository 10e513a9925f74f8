import { describe, expect, it } from '@jest/globals';
import {
  LedgerInputError,
  LedgerRowError,
  openLedger,
  type ControlServerRecord,
} from '@holdfast/turn-ledger';
import { AT, rejection } from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  const RECORD: ControlServerRecord = {
    scope: 'standalone',
    endpoint: 'http://127.0.0.1:4321',
    serverId: 'server-1',
    credentialRef: 'standalone-server-1',
    capabilities: ['instances.v1', 'turns.v1'],
    logFile: '/var/lib/holdfast/control-server.log',
    startedAt: AT,
  };

  describe('the record of a control server', () => {
    it('is durable for its scope, and readable when no session is alive [OWNERSHIP-001.1]', async () => {
      const url = await database.fresh();
      {
        await using ledger = await openLedger({ url });
        await ledger.controlServers.write(RECORD);
      }
      await using ledger = await openLedger({ url });
      expect(await ledger.sessions.list()).toEqual([]);
      expect(await ledger.controlServers.read('standalone')).toEqual(RECORD);
    });

    it('is replaced as a whole, scope by scope, and removed', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      const remote = { ...RECORD, scope: 'ssh:build-1', serverId: 'server-2' };
      const next = { ...RECORD, serverId: 'server-3', capabilities: [], endpoint: 'http://127.0.0.1:1' };
      await ledger.controlServers.write(RECORD);
      await ledger.controlServers.write(remote);
      await ledger.controlServers.write(next);
      expect(await ledger.controlServers.read('standalone')).toEqual(next);
      expect(await ledger.controlServers.read('ssh:build-1')).toEqual(remote);
      await ledger.controlServers.remove('standalone');
      await ledger.controlServers.remove('standalone');
      expect(await ledger.controlServers.read('standalone')).toBeNull();
      expect(await ledger.controlServers.read('ssh:build-1')).toEqual(remote);
    });

    it.each([
      ['an endpoint that is no address', { endpoint: 'somewhere' }],
      ['a scope that is none', { scope: 'moon' }],
      ['a start that is no time', { startedAt: 'today' }],
    ])('is refused with %s', async (_what, change) => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await rejection(ledger.controlServers.write({ ...RECORD, ...change }), LedgerInputError);
      expect(await ledger.controlServers.read('standalone')).toBeNull();
    });

    it.each([
      ['not JSON', "capabilities = 'instances.v1'"],
      ['another JSON', `capabilities = '{"a":1}'`],
      ['an endpoint of another kind', "endpoint = 'ftp://127.0.0.1/'"],
    ])('is not believed when it holds %s', async (_what, damage) => {
      const url = await database.fresh();
      await using ledger = await openLedger({ url });
      await ledger.controlServers.write(RECORD);
      await database.damage(url, `update control_servers set ${damage}`);
      const error = await rejection(ledger.controlServers.read('standalone'), LedgerRowError);
      expect(error).toMatchObject({ table: 'control_servers', key: 'standalone' });
    });
  });
});
