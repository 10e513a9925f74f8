import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { listProcesses, postgresServer, requirement, runProgram, testHome, until } from '@holdfast/testbeds';
import { findPostgres } from '../src/postgres-programs.ts';

const describeWithPostgres = requirement('postgres') ? describe : describe.skip;

describeWithPostgres('postgresServer', () => {
  it('listens on loopback and on a socket in the home, and is gone when left', async () => {
    await using home = await testHome('postgres');
    {
      await using server = await postgresServer(home);
      expect(server.url).toBe(
        `postgres://holdfast:${server.password}@127.0.0.1:${String(server.port)}/postgres`,
      );
      expect(existsSync(`${server.socketFolder}/.s.PGSQL.${String(server.port)}`)).toBe(true);
      expect(await answers(server.port)).toBe(true);
    }
    expect(existsSync(home.path('postgres'))).toBe(false);
    await until(() => listProcesses().every(({ commandLine }) => !commandLine.includes(home.root)), {
      reason: 'the server’s processes to be gone',
      withinMs: 60_000,
    });
  });

  it('breaks its connections when it crashes', async () => {
    await using home = await testHome('postgres-crash');
    await using server = await postgresServer(home);
    const socket = connect(server.port, '127.0.0.1');
    // A connection that has said nothing may still be unaccepted, and one accepted in a shutdown holds that up for a minute.
    socket.write(SSL_REQUEST);
    await once(socket, 'data');
    const closed = once(socket.resume(), 'close');
    await server.crash();
    await closed;
    expect(await answers(server.port)).toBe(false);
  });
});

/** The first message of a client that asks for encryption; the server answers with one byte. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}

describe('a requirement', () => {
  const missing = (): string => 'there is no such thing';

  it('lets suites run where it is met, and skips them with one line where it is not', () => {
    const told: string[] = [];
    const tell = (line: string): void => void told.push(line);
    expect(requirement('postgres', { missing: () => undefined, environment: {}, tell })).toBe(true);
    expect(told).toEqual([]);
    expect(requirement('postgres', { missing, environment: { HOLDFAST_REQUIRE: 'docker, ssh' }, tell })).toBe(
      false,
    );
    expect(told).toEqual([
      'Suites that need postgres are skipped: there is no such thing. With HOLDFAST_REQUIRE=postgres they would fail.',
    ]);
  });

  it('lets them run, and fail, where the environment says that it must be met', () => {
    const environment = { HOLDFAST_REQUIRE: 'docker, postgres' };
    expect(requirement('postgres', { missing, environment, tell: () => undefined })).toBe(true);
  });

  it('tells its line without a stack, as it is', async () => {
    const source = `
      const { requirement } = await import('@holdfast/testbeds');
      console.log(requirement('postgres', { missing: () => 'nothing is here', environment: {} }));`;
    const command = [process.execPath, '--input-type=module', '-e', source];
    const { stdout, stderr } = await runProgram(command, {
      cwd: import.meta.dirname,
      env: { NODE_OPTIONS: undefined },
      timeoutMs: 60_000,
    });
    expect(stdout).toBe('false\n');
    expect(stderr.split('\n')).toHaveLength(2);
  });
});

describe('the programs of PostgreSQL', () => {
  it('are looked for in the search path, then among the versions, the newest first', async () => {
    await using home = await testHome('programs');
    const versions = await home.folder('versions');
    const missing = findPostgres('', versions);
    expect(missing).toMatchObject({ kind: 'missing', missing: expect.stringContaining(versions) });
    for (const version of ['9', '15', '13']) await plant(home.path('versions', version, 'bin'));
    // Without a server, as where only the client is installed.
    await mkdir(home.path('versions', '16', 'bin'), { recursive: true });
    expect(findPostgres('/nowhere', versions)).toMatchObject({
      programs: { postgres: home.path('versions', '15', 'bin', 'postgres') },
    });
    await plant(home.path('elsewhere'));
    expect(findPostgres(`/nowhere:${home.path('elsewhere')}`, versions)).toMatchObject({
      programs: { initdb: home.path('elsewhere', 'initdb') },
    });
  });

  async function plant(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    for (const name of ['initdb', 'postgres']) {
      await writeFile(`${folder}/${name}`, '');
      await chmod(`${folder}/${name}`, 0o755);
    }
  }
});
