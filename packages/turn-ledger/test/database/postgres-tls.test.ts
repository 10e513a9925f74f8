import { inspect } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testHome, until } from '@holdfast/testbeds';
import { writeFile } from 'node:fs/promises';
import { LedgerUnavailableError, openLedger } from '@holdfast/turn-ledger';
import { hasPostgres, postgresDatabase } from '../each-database.ts';
import { CERTIFICATE, KEY } from '../fixtures/self-signed.ts';
import { rejection } from '../recorded-session.ts';

(hasPostgres ? describe : describe.skip)('a PostgreSQL server and TLS', () => {
  const database = postgresDatabase();

  function withParameters(parameters: string): string {
    return `${database.server.url}?${parameters}`;
  }

  /** Lets the server write a file of its own, which nobody else can read. */
  async function put(file: string, content: string): Promise<void> {
    const lines = content.split('\n').map((line) => `'${line}'`);
    await database.query(
      database.server.url,
      `copy (select unnest(array[${lines.join(', ')}])) to program 'umask 077; cat > ${file}'`,
    );
  }

  it('that has none says so when it is asked for it', async () => {
    const error = await rejection(
      openLedger({ url: withParameters('sslmode=verify-full') }),
      LedgerUnavailableError,
    );
    expect(error.reason).toBe('cannot_connect');
    expect(error.message).toContain('(cannot_connect, The server does not support SSL connections)');
  });

  describe('that takes nothing else', () => {
    beforeAll(async () => {
      await put('server.key', KEY);
      await put('server.crt', CERTIFICATE);
      await put('pg_hba.conf', 'local all all trust\nhostssl all all all scram-sha-256');
      await database.query(database.server.url, 'alter system set ssl = on');
      await database.query(database.server.url, 'select pg_reload_conf()');
      await until(
        async () =>
          await database.query(database.server.url, 'select 1').then(
            () => false,
            () => true,
          ),
        { reason: 'the server to read its configuration', withinMs: 60_000 },
      );
    });

    it('is not reached without', async () => {
      const error = await rejection(openLedger({ url: database.server.url }), LedgerUnavailableError);
      expect(error.reason).toBe('access_denied');
      expect(error.message).toContain(
        'no rule of its pg_hba.conf admits this connection without TLS, which sslmode=verify-full in the url asks for',
      );
    });

    it('is not trusted for the certificate of nobody, and no secret is told', async () => {
      const error = await rejection(
        openLedger({ url: withParameters('sslmode=verify-full') }),
        LedgerUnavailableError,
      );
      expect(error.reason).toBe('cannot_connect');
      expect(error.message).toContain('self-signed certificate');
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(database.server.password);
    });

    it('is not taken for another one', async () => {
      await using home = await testHome('tls');
      const root = home.path('root.pem');
      await writeFile(root, CERTIFICATE);
      const url = withParameters(`sslmode=verify-full&sslrootcert=${root}`);
      const error = await rejection(openLedger({ url }), LedgerUnavailableError);
      expect(error.reason).toBe('cannot_connect');
      expect(error.message).toContain("does not match certificate's altnames");
    });

    it('is a ledger as any other', async () => {
      await using ledger = await openLedger({ url: withParameters('sslmode=no-verify') });
      expect(await ledger.tasks.ensure('t')).toMatchObject({ taskId: 't' });
    });
  });
});
